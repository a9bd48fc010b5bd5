"""Threads of a script that use PyTorch and are not recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidy as package

from ..cli.command import tidy
from ..environment import SOAK

pytestmark = pytest.mark.oracle

_OTHER_THREAD = """\
import threading
import time
import torch
from torch import nn

def train(steps, done=None):
    model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while steps and not (done and done.is_set()):
        model(torch.randn(16, 32)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        steps -= 1

def compute(done):
    while not done.is_set():
        sum(range(1000))
        time.sleep(0)  # or the other thread would wait 5 ms for its turn, each time

done = threading.Event()
other = threading.Thread(target={other})
other.start()
train(20)
done.set()
other.join()
"""


_CASES: list[tuple[str, tuple[str, ...], bool]] = [
    ("train, args=(10**9, done)", (), True),
    ("train, args=(10**9, done)", ("--all-threads",), False),
    ("compute, args=(done,)", (), False),
]
if SOAK:  # a thread that waits does less than one that computes
    _CASES.append(("done.wait", (), False))


@pytest.mark.parametrize(("other", "options", "said"), _CASES)
def test_other_threads_that_use_pytorch_are_said(
    other: str, options: tuple[str, ...], said: bool, tmp_path: Path
) -> None:
    """A thread that trains is; one that waits or computes without PyTorch is not."""
    (tmp_path / "script.py").write_text(_OTHER_THREAD.format(other=other), "utf-8")
    command = ("run", "--trace", "t.json", "--format", "json", *options, "script.py")
    done = tidy(*command, cwd=tmp_path)
    again = tidy("report", "--format", "json", "t.json", cwd=tmp_path)
    for text in (done.out, again.out):
        (report,) = json.loads(text)["traces"]
        note = "ops of 1 other thread were not recorded; tidy run --all-threads records them"
        assert (note in report["warnings"]) == said
        assert report["framework"].startswith("PyTorch 2.")


_ONE_AFTER_THE_OTHER = """
import threading
import torch
from torch import nn

def train(steps):
    model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.randn(16, 32)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

for steps in (3, 60):
    other = threading.Thread(target=train, args=(steps,))
    other.start()
    other.join()
"""


@pytest.mark.parametrize("options", [(), ("--all-threads",)] if SOAK else [()])
def test_training_on_threads_that_end(options: tuple[str, ...], tmp_path: Path) -> None:
    """The recording goes on where the steps do; a thread that ends leaves no profiler behind."""
    (tmp_path / "script.py").write_text(_ONE_AFTER_THE_OTHER, "utf-8")
    command = ("run", "--trace", "t.json", "--fail-on", "never", *options, "script.py")
    done = tidy(*command, cwd=tmp_path)
    assert done.code == 0, done.err
    trace = package.load(tmp_path / "t.json")
    assert 0 < len(trace.steps) <= 10  # as many as are recorded unless more are asked for
    for step in trace.steps:
        inside = [event.name for event in trace.within(step.start_ns, step.end_ns)]
        assert inside.count("aten::linear") == 4
