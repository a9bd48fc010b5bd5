"""Where a recording of PyTorch is cut while an optimizer is at work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .running import record, write_script

pytestmark = pytest.mark.oracle

_IN_OPTIMIZERS = """
import os, signal, time
import torch

names = {"time": time}
work = "def work(*_):\\n    end = time.monotonic() + 0.1\\n    while time.monotonic() < end: pass"
exec(compile(work, "<a library>", "exec"), names)
weight = torch.ones(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01, foreach=False)
optimizer.register_step_pre_hook(names["work"])
for _ in range(4):
    optimizer.zero_grad()
    weight.sum().backward()
    optimizer.step()
losses = []

def closure():
    losses.append((weight - 9).square().sum())
    losses[-1].backward()
    time.sleep(0.05)
    if len(losses) == 40:
        os.kill(os.getpid(), signal.SIGKILL)
    return losses[-1]

endless = {"max_iter": 99, "tolerance_grad": 0, "tolerance_change": 0}
torch.optim.LBFGS([weight], lr=1e-5, **endless).step(closure)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_optimizers_finish_what_they_do_themselves(tmp_path: Path) -> None:
    """No piece ends before an update of theirs; in what the script does for them pieces end."""
    script = write_script(tmp_path, _IN_OPTIMIZERS)
    trace = record("--warmup", "0", script, cwd=tmp_path).trace
    in_step = "Optimizer.step#SGD.step"
    updates = [each for each in trace.named("aten::add_") if each.start_ns < trace.steps[-1].end_ns]
    assert len(updates) == len(trace.steps) == 4
    for step, update in zip(trace.steps, updates, strict=True):
        # On a busy machine its work takes longer than a piece waits for it.
        is_short = step.duration_ns < 140_000_000
        assert not is_short or in_step in {each.name for each in update.ancestors()}
    # What is killed loses the last second.
    assert len(trace.rows_named("aten::square")) >= 5
