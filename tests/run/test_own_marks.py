"""Steps that the script itself marks as PyTorch's profiler does."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import Recorded, record, write_script

pytest.importorskip("tidy.profiler")

_TRAIN = """
import {framework} as torch
from {profiler} import record_function
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for round in range({rounds}):
    with record_function(f"ProfilerStep#{{round}}"):
        net(torch.ones(2, 4)).sum().backward()
        {step}
"""
_PROFILED = """
import torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.profiler.profile(schedule=torch.profiler.schedule(wait=90, warmup=1, active=1)) as prof:
    for _ in range(80):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        prof.step()
"""


def _recorded(folder: Path, rounds: int, step: str) -> Recorded:
    text = _TRAIN.format(framework="tidy.runtime", profiler="tidy", rounds=rounds, step=step)
    return record(write_script(folder, text), cwd=folder)


def _numbers(found: Recorded) -> list[int]:
    """Numbers of the steps, after a look at the names in the file, of which each is a step."""
    trace = found.trace
    assert len(list(trace.named("ProfilerStep#*"))) == len(trace.steps)
    return [step.number for step in trace.steps]


def test_an_optimizer_counts_alone(tmp_path: Path) -> None:
    """Marks with the numbers of steps are paired with those of lightly recorded steps."""
    found = _recorded(tmp_path, 80, "optimizer.step()")
    assert _numbers(found) == list(range(1, 11))
    assert found.header["tidy_timed_steps"] == 10
    own = list(found.trace.named("ProfilerStep of the script"))
    assert len(own) == 11  # with that of the warm-up


def test_marks_of_a_loop_without_optimizer_are_its_steps(tmp_path: Path) -> None:
    assert _numbers(_recorded(tmp_path, 5, "pass")) == list(range(5))


@pytest.mark.oracle
def test_a_profiler_that_waits_marks_steps(tmp_path: Path) -> None:
    found = record(write_script(tmp_path, _PROFILED), cwd=tmp_path)
    assert _numbers(found) == list(range(1, 11))
