"""TDY703 on PyTorch: gradients that torch.autograd.grad() gives one parameter after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidy as package
from tidy.finding import Checked

from ..cli.command import tidy
from .scripts import recorded_by_pytorch

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

_SCRIPT = """\
import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(12)])
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.01)
for _ in range(8):
    out = model(torch.ones(4, 8))
    loss = out.square().mean()
    {}
    optimizer.step()
"""
_ONE_BY_ONE = """for each in parameters:
        (each.grad,) = torch.autograd.grad(loss, each, retain_graph=True)"""
_ALL_AT_ONCE = """for each, grad in zip(parameters, torch.autograd.grad(loss, parameters)):
        each.grad = grad"""
_OF_EACH_SAMPLE = """for row in out.square().mean(1):
        torch.autograd.grad(row, parameters[0], retain_graph=True)
    loss.backward()"""
_ROWS_OF_A_JACOBIAN = """for row in torch.eye(4):
        torch.autograd.grad(out.sum(1), parameters[0], row, retain_graph=True)
    loss.backward()"""


def test_one_parameter_a_call(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(_SCRIPT.format(_ONE_BY_ONE), "utf-8")
    done = tidy("run", "--format", "json", "--select", "TDY703", "script.py", cwd=tmp_path)
    (report,) = json.loads(done.out)["traces"]
    (found,) = report["findings"]
    assert found["location"]["line"] == 11
    assert found["message"].startswith("24 calls a step of torch.autograd.grad")
    assert found["saving"] is not None


@pytest.mark.parametrize(
    ("inside", "calls"),
    [
        pytest.param(_ALL_AT_ONCE, 1, id="all-at-once"),
        pytest.param(_OF_EACH_SAMPLE, 4, id="of-each-sample"),
        pytest.param(_ROWS_OF_A_JACOBIAN, 4, id="rows-of-a-jacobian"),
    ],
)
def test_other_calls(inside: str, calls: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(inside), "utf-8")
    trace = recorded_by_pytorch(script, tmp_path / "trace.json")
    assert len(trace.rows_named("*torch/autograd/__init__.py(*): grad")) == 8 * calls
    outcome = package.check(trace, select=["TDY703"], savings="off").outcomes["TDY703"]
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()
