"""Gradients that an optimizer uses, where PyTorch does not record of which tensors they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy import Trace
from tidy.finding import NotChecked

from ..environment import SOAK
from ..run.running import record, write_script
from .scripts import recorded_by_pytorch, recorded_in_steps

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


def _recorded(script: Path, framework: str) -> Trace:
    if framework == "torch":
        pytest.importorskip("torch")
        return recorded_by_pytorch(script, script.with_suffix(".json"), profile_memory=True)
    with recorded_in_steps(script) as prof:
        return prof.trace


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
    any_share = {"TDY704": {"worth-a-word": 0}}  # it depends on what else the machine does
    found = tidy.check(trace, select=["TDY704"], options=any_share).findings
    assert found
    assert all("8 gradients" in each.message for each in found)


_RESIDUALS = """\
import torch
from torch import nn

class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64, bias=False) for _ in range(6)])

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x

adapter, blocks, teacher = nn.Linear(48, 64), Blocks(), Blocks()
optimizer = torch.optim.SGD(adapter.parameters(), lr=0.01)
data = torch.randn(64, 48)
for _ in range(12):
    optimizer.zero_grad()
    with torch.no_grad():
        target = teacher(adapter(data))
    (blocks(adapter(data)) - target).square().mean().backward()
    {update}
    optimizer.step()
"""
_OWN_UPDATES = {
    "descent": "p.data = p.data - 0.01 * p.grad",
    "in-place": "p.data.sub_(p.grad, alpha=0.01)",
    "sign-descent": "p.data.copy_(p.data - 0.01 * p.grad.sign())",
    "in-a-list": "torch._foreach_add_([p.data], [p.grad], alpha=-0.01)",
    "importance": "total = p.grad.pow(2) + 0.1",
}


_UPDATES = {
    "none": "",
    **{
        name: f"for p in blocks.parameters(): {each}; p.grad = None"
        for name, each in _OWN_UPDATES.items()
    },
}


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        *((name, "runtime") for name in _UPDATES),
        # Operators have the same names in both, and PyTorch takes seconds to start.
        *((name, "torch") for name in (_UPDATES if SOAK else ("none", "in-place"))),
    ],
)
def test_residuals_of_a_weights_shape_are_no_use_of_its_gradient(
    name: str, framework: str, tmp_path: Path
) -> None:
    """A batch of 64 rows of 64 has the shape of the weights, in the student and in the teacher."""
    script = write_script(tmp_path, _RESIDUALS.replace("{update}", _UPDATES[name]))
    trace = record("--framework", framework, script.name, cwd=tmp_path).trace
    any_share = {"TDY704": {"worth-a-word": 0}}
    findings = tidy.check(trace, select=["TDY704"], options=any_share).findings
    assert any("6 gradients" in each.message for each in findings) == (name == "none")


_TWO_PARTS = """\
import torch
from torch import nn

body = nn.Sequential(*[each for _ in range(4) for each in (nn.Linear(64, 64), nn.Tanh())])
head = nn.Linear(64, 10)
optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
data = torch.randn(16, 64)

@torch.no_grad()
def update(parameter):
    parameter.sub_(parameter.grad, alpha=0.01)
    parameter.grad = None

class Rule(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = nn.Parameter(torch.tensor(0.01))

    @torch.no_grad()
    def forward(self, parameters):
        for each in parameters:
            each.sub_(each.grad * self.rate)
            each.grad = None

learned = Rule()
{before}
for _ in range(10):
    head(body(data)).square().mean().backward()
    {after}
    optimizer.step()
    optimizer.zero_grad()
"""
_HOOK = "for each in body.parameters(): each.register_post_accumulate_grad_hook(update)"


@pytest.mark.parametrize("framework", ["runtime", "torch"])
@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param("", "body.zero_grad()", True, id="nowhere"),
        pytest.param(_HOOK, "pass", False, id="in-a-hook"),
        pytest.param("", "learned(body.parameters())", False, id="in-a-module"),
    ],
)
def test_what_hooks_and_modules_update_is_trained(
    framework: str, before: str, after: str, found: bool, tmp_path: Path
) -> None:
    script = write_script(
        tmp_path, _TWO_PARTS.replace("{before}", before).replace("{after}", after)
    )
    trace = _recorded(script, framework)
    any_share = {"TDY704": {"worth-a-word": 0}}
    findings = tidy.check(trace, select=["TDY704"], options=any_share).findings
    assert bool(findings) == found
