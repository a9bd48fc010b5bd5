"""A step that was captured by a CUDA graph is counted as often as the graph is replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidy.run import RunOptions, time_once
from tidy.run.child.backend import GraphSteps
from tidy.run.child.patches import Patches
from tidy.trace import EventKind

from .running import record, tidy_run, write_script

_SCRIPT = """
import contextlib
import time
import torch

class Graph:  # stands in for one of PyTorch's, as modelled devices have none
    def capture_end(self):
        pass

    def replay(self):
        inputs.mul_(1.0)

@contextlib.contextmanager
def capturing(graph):
    torch.cuda.is_current_stream_capturing = lambda: True
    yield
    torch.cuda.is_current_stream_capturing = lambda: False
    graph.capture_end()

torch.cuda.CUDAGraph = Graph
weight = torch.ones(64, 64, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
inputs = torch.ones(64, 64, device="cuda")

def step():
    optimizer.zero_grad(set_to_none=True)
    (inputs @ weight).square().mean().backward()
    optimizer.step()

for _ in range(3):
    step()
    time.sleep({pause})
whole, part = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with capturing(whole):
    step()
with capturing(part):
    inputs.mul_(1.0)
for _ in range(60):
    part.replay()
    whole.replay()
print("replay" in vars(torch.cuda.CUDAGraph), type(torch.cuda.CUDAGraph.replay).__name__)
"""


def _script(folder: Path, pause: float = 0) -> Path:
    return write_script(folder, _SCRIPT.format(pause=pause))


_ON_A_DEVICE = ("--framework", "runtime", "--device", "h100")


@pytest.mark.parametrize("pause", [0, 0.2])  # those before in the same piece, or in earlier ones
def test_each_replay_is_a_step(pause: float, tmp_path: Path) -> None:
    script = _script(tmp_path, pause)
    done = record(*_ON_A_DEVICE, "--steps", "6", "--no-memory", script, cwd=tmp_path)
    trace = done.trace
    assert [step.number for step in trace.steps] == [1, 2, 3, 4, 5, 6]
    replays = trace.rows_named("aten::mul_")
    starts = [step.start_ns for step in trace.steps]
    ends = [step.end_ns for step in trace.steps]
    times = trace.start_ns[replays].tolist()
    in_each = [
        sum(start <= time < end for time in times) for start, end in zip(starts, ends, strict=True)
    ]
    assert in_each == [2] * 6
    assert not any(
        start <= each.start_ns < end
        for each in trace.named("Optimizer.step#*")
        if each.kind == EventKind.Annotation
        for start, end in zip(starts, ends, strict=True)
    )


def test_nothing_of_ours_is_called_afterwards(tmp_path: Path) -> None:
    script = _script(tmp_path)
    options = ("--steps", "3", "--seconds", "20", "--format", "json", "--output", "report.json")
    done = tidy_run(*_ON_A_DEVICE, *options, script, cwd=tmp_path)
    assert done.out == "True function\n"
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["traces"][0]["steps"]


def test_they_are_timed(tmp_path: Path) -> None:
    script = _script(tmp_path)
    options = RunOptions(
        [str(script)], framework="runtime", device="h100", warmup=2, steps=20, stop_after=True,
        to_stderr=True,
    )  # fmt: skip
    assert len(time_once(options, [])) == 20


class _Cuda:
    """The part of `torch.cuda` that is asked."""

    def __init__(self, is_initialized: bool = True) -> None:
        class CUDAGraph:
            def capture_end(self) -> str:
                return "ended"

            def replay(self) -> str:
                return "replayed"

        self.CUDAGraph: Any = CUDAGraph
        self.is_capturing = False
        self._is_initialized = is_initialized

    def is_initialized(self) -> bool:
        return self._is_initialized

    def is_current_stream_capturing(self) -> bool:
        return self.is_capturing


@pytest.mark.parametrize("is_initialized", [True, False])
def test_only_graphs_with_a_step_count(is_initialized: bool) -> None:
    cuda, replays = _Cuda(is_initialized), list[int]()
    patches = Patches()
    steps = GraphSteps(cuda, lambda: replays.append(1), patches)
    assert not steps.is_captured()
    cuda.is_capturing = True
    assert steps.is_captured() == is_initialized
    with_step, without = cuda.CUDAGraph(), cuda.CUDAGraph()
    assert with_step.capture_end() == "ended"
    assert without.capture_end() == "ended"
    assert (with_step.replay(), without.replay()) == ("replayed", "replayed")
    assert len(replays) == is_initialized
    patches.undo()
    with_step.replay()
    assert len(replays) == is_initialized
