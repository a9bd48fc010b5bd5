"""The flame graph: every nanosecond of the window once, at the frame that it was spent in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy.account import Accountant
from tidy.trace import EventKind, Trace
from tidy.trace.outline import parse_outline

from ..cli.command import EXAMPLES
from ..cli.command import tidy as call
from ..environment import ROOT

_NO_TIME = (EventKind.Allocation, EventKind.OutOfMemory, EventKind.Overhead)
_TRACES = [
    *EXAMPLES,
    *sorted((ROOT / "tests" / "data" / "traces").glob("device_*.pt.trace.json.gz")),
    *sorted((ROOT / "tests" / "data" / "packed" / "real").glob("tracelens*.json*")),
]


def _folded(trace: Trace, *, device: bool = False, all_frames: bool = False) -> dict[str, int]:
    graph = Accountant(trace).flame_graph(all_frames=all_frames)
    lines = graph.folded(graph.self_device_ns if device else graph.self_host_ns)
    return {path: int(ns) for path, _, ns in (line.rpartition(" ") for line in lines)}


def test_frames_are_within_their_callers() -> None:
    trace = parse_outline(
        """
        train.py(3): step 100us
          nn.Module: Linear_0 60us
            torch/nn/modules/module.py(1): _call_impl 50us
              aten::linear 40us
                aten::addmm 30us
        """
    )
    assert _folded(trace) == {
        "train.py(3): step": 40_000,
        "train.py(3): step;nn.Module: Linear_0": 20_000,
        "train.py(3): step;nn.Module: Linear_0;aten::linear": 10_000,
        "train.py(3): step;nn.Module: Linear_0;aten::linear;aten::addmm": 30_000,
    }
    inner = "train.py(3): step;nn.Module: Linear_0;torch/nn/modules/module.py(1): _call_impl"
    assert _folded(trace, all_frames=True)[inner] == 10_000


def test_calls_from_one_frame_are_one_node() -> None:
    trace = parse_outline(
        "train.py(3): step 100us\n  aten::add 10us\n  aten::mul 5us\n  aten::add 20us"
    )
    assert _folded(trace)["train.py(3): step;aten::add"] == 30_000


def test_a_backward_is_below_its_forward() -> None:
    (path,) = (each for each in EXAMPLES if each.name == "train_cnn.json.gz")
    paths = _folded(tidy.load(path))
    backward = [each.split(";") for each in paths if "ConvolutionBackward0" in each]
    assert backward
    for frames in backward:
        engine = frames.index("autograd::engine::evaluate_function: ConvolutionBackward0")
        assert frames[engine - 1] == "aten::convolution"
        assert frames[engine + 1 : engine + 2] in ([], ["ConvolutionBackward0"])
        assert any(frame.startswith("nn.Module: Conv2d") for frame in frames)


@pytest.mark.parametrize("path", _TRACES, ids=lambda path: path.name)
@pytest.mark.parametrize("all_frames", [False, True])
def test_it_adds_up(path: Path, all_frames: bool) -> None:
    """On each thread and device, to the time in which something was open there."""
    trace = tidy.load(path)
    accountant = Accountant(trace)
    graph = accountant.flame_graph(all_frames=all_frames)
    window, rows = trace.window.time, np.arange(len(trace))
    on_host = (trace.device < 0) & ~np.isin(trace.kind, _NO_TIME)
    host_ns = sum(
        (trace.time_of(rows[on_host & (trace.track_id == track)]) & window).total_ns
        for track in set(trace.track_id[: trace.tree_count].tolist())
    )
    device_ns = sum((trace.device_busy(each) & window).total_ns for each in trace.devices_used)
    roots = graph.parent < 0
    for total, spent_ns in ((graph.host_ns, host_ns), (graph.device_ns, device_ns)):
        assert int(total[roots].sum()) <= spent_ns
        if all_frames:  # else time within libraries alone has no frame to be in
            assert int(total[roots].sum()) == spent_ns
    assert (graph.parent < np.arange(len(graph.parent))).all()
    assert len(set(zip(graph.parent.tolist(), graph.names, strict=True))) == len(graph.names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_self_times_are_those_of_the_rows(path: Path) -> None:
    """By name: what rows of the main thread take themselves, within the steps."""
    trace = tidy.load(path)
    by_name = Counter[str]()
    for line, ns in _folded(trace, all_frames=True).items():
        by_name[line.rpartition(";")[2]] += ns
    time, said = trace.step_time, Counter[str]()
    for event in trace.of_kind(EventKind.TorchOp):
        if time.contains(np.array([event.start_ns]))[0]:
            said[event.name] += event.self_ns
    assert said
    assert {name: by_name[name] for name in said} == said


def test_the_command_writes_folded_stacks(tmp_path: Path) -> None:
    trace = ROOT / "tests" / "data" / "traces" / "device_training.pt.trace.json.gz"
    host, device = (call("flame", *more, trace) for more in ((), ("--device",)))
    for done in (host, device):
        assert (done.code, done.err) == (0, "")
        assert all(line.rpartition(" ")[2].isdigit() for line in done.lines)
    assert any("sgemm" in line.rpartition(";")[2] for line in device.lines)
    assert not any("sgemm" in line for line in host.lines)
    call("flame", trace, "-o", tmp_path / "t.folded")
    assert (tmp_path / "t.folded").read_text("utf-8") == host.out


def test_a_run_without_devices_says_so() -> None:
    done = call("flame", "--device", EXAMPLES[0])
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("no device time is recorded in the window\n")
