"""Whoever hands a trace to a user loads averages, in a process that has loaded nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ..test_architecture import ROOT

_TRAIN = """
import tidy, tidy.runtime as torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""
_RECORDED = {
    "record": "with tidy.record(steps=1, warmup=1) as made:\n    for _ in range(4): step()",
    "profile": "with tidy.profile() as made:\n    step()",
}


@pytest.mark.parametrize("how", _RECORDED)
def test_a_recorded_trace_has_averages(how: str) -> None:
    program = f"{_TRAIN}{_RECORDED[how]}\nassert 'aten::linear' in made.trace.table()"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_profiler_has_their_methods() -> None:
    program = f"{_TRAIN}{_RECORDED['profile']}\nassert 'aten::linear' in made.table(row_limit=5)"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


_OWN_TABLE = """
class Own(tidy.profile):
    def table(self, **options):
        calls.append(options)
        return super().table(**options)
calls = []
with Own() as made:
    step()
assert 'aten::linear' in made.table(row_limit=5)
assert 'aten::linear' in made.table(row_limit=5)
assert calls == [{'row_limit': 5}] * 2, calls
"""


def test_an_override_is_called_once() -> None:
    program = f"{_TRAIN}{_OWN_TABLE}"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
