"""Gradients that an optimizer uses, where PyTorch does not record of which tensors they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.finding import NotChecked

from .scripts import recorded_by_pytorch

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

_GROUPS = """\
import torch
from torch import nn

body = nn.Sequential(*[each for _ in range(20) for each in (nn.Linear(24, 24), nn.Tanh())])
head = nn.Linear(24, 4)
groups = [{"params": body.parameters(), "lr": 0.001}, {"params": head.parameters()}]
optimizer = torch.optim.SGD(groups, lr=0.01, foreach=True)
for _ in range(8):
    optimizer.zero_grad()
    head(body(torch.randn(64, 24))).square().sum().backward()
    optimizer.step()
"""
_WITHOUT_OPS = """\
    with torch.profiler.record_function("Optimizer.step#SGD.step"):
        pass
"""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(_GROUPS, "PyTorch records none of long lists", id="a-list-of-forty"),
        pytest.param(_GROUPS + _WITHOUT_OPS, "no operator", id="no-operator"),
    ],
)
def test_no_gradient_is_said_to_be_unused(script: str, reason: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(script, "utf-8")
    trace = recorded_by_pytorch(tmp_path / "script.py", tmp_path / "trace.json")
    outcome = tidy.check(trace, select=["TDY704"]).outcomes["TDY704"]
    assert isinstance(outcome, NotChecked)
    assert reason in outcome.reason


def test_it_is_said_where_lists_are_short(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    shorter = _GROUPS.replace("range(20)", "range(4)")
    shorter = shorter.replace('{"params": body.parameters(), "lr": 0.001}, ', "")
    (tmp_path / "script.py").write_text(shorter, "utf-8")
    trace = recorded_by_pytorch(tmp_path / "script.py", tmp_path / "trace.json")
    (finding,) = tidy.check(trace, select=["TDY704"]).findings
    assert "8 gradients" in finding.message
