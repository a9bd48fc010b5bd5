"""The same events as a Chrome trace and as a database give the same trace."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.trace import Capability, Trace

from ..conftest import ReadEvents
from ..environment import SOAK
from ..oracle.shared import path_of
from ..trace.kineto import Written, call, kernel, mark, op, span
from .converted import described, write_nsys, write_nvprof

_EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
_ON_GPUS = ["hta__critical_path__alexnet", "kineto__resnet50_num_workers_0"]
_NODE = "AddmmBackward0"
_ENGINE = f"autograd::engine::evaluate_function: {_NODE}"


def _inputs(*dims: list[int], **more: int) -> dict[str, Any]:
    names = {"seq": "Sequence number", "thread": "Fwd thread id"}
    return {"Input Dims": list(dims), **{names[key]: value for key, value in more.items()}}


def _step(at: float, seq: int) -> list[Written]:
    """A step on the GPU: copies, forward on thread 1, backward on thread 2, an optimizer."""
    copy = span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 20, 9, pid=0, tid=7)
    copy["args"] = {"correlation": 10 * seq, "device": 0, "stream": 7, "bytes": 4096}
    fill = span("gpu_memset", "Memset (Device)", at + 72, 1, pid=0, tid=20)
    fill["args"] = {"correlation": 10 * seq + 3, "device": 0, "stream": 20, "bytes": 64}
    return [
        mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 8),
        op("aten::to", at + 9, 25, args=_inputs([4, 8], [], [])),
        op("aten::_to_copy", at + 10, 23, args=_inputs([4, 8], [])),
        op("aten::copy_", at + 12, 20, args=_inputs([4, 8], [4, 8], [])),
        call("cudaMemcpyAsync", at + 13, 17, 10 * seq),
        copy,
        op("aten::linear", at + 40, 20, args=_inputs([4, 8], [2, 8], [2])),
        op("aten::t", at + 41, 3, args=_inputs([2, 8], seq=seq)),
        op("aten::addmm", at + 45, 14, args=_inputs([2], [4, 8], [8, 2], seq=seq + 1)),
        call("cudaLaunchKernel", at + 50, 5, 10 * seq + 1),
        kernel("sgemm_32x32", at + 56, 12, correlation=10 * seq + 1),
        op(_ENGINE, at + 62, 20, tid=2, args=_inputs(seq=seq + 1, thread=1)),
        op(_NODE, at + 63, 18, tid=2, args=_inputs([4, 2], seq=seq + 1, thread=1)),
        op("aten::mm", at + 64, 10, tid=2, args=_inputs([2, 4], [4, 8])),
        call("cudaMemsetAsync", at + 65, 2, 10 * seq + 3, tid=2),
        fill,
        call("cudaLaunchKernel", at + 70, 2, 10 * seq + 2, tid=2),
        kernel("sgemm_64x64", at + 80, 5, correlation=10 * seq + 2),
        mark("Optimizer.step#SGD.step", at + 85, 10),
        op("aten::add_", at + 86, 4, args=_inputs([2, 8], [2, 8], [])),
        call("cudaStreamSynchronize", at + 97, 2, 10 * seq + 4),
    ]


@pytest.fixture
def recorded(read_events: ReadEvents) -> Trace:
    gpu = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0}
    return read_events([*_step(1000.5, 3), *_step(1200.5, 5)], deviceProperties=[gpu])


@pytest.mark.parametrize("stashed", [False, True])
def test_nsight_systems(recorded: Trace, tmp_path: Path, stashed: bool) -> None:
    write_nsys(recorded, tmp_path / "step.sqlite", stashed=stashed)
    trace = tidy.load(tmp_path / "step.sqlite")
    trace.self_check()
    assert described(trace) == described(recorded)
    assert len(trace.forward) == 2
    assert trace.devices[0].compute == recorded.devices[0].compute == (8, 0)
    assert trace.capabilities == recorded.capabilities - {Capability.SHAPES}
    assert [s.duration_ns for s in trace.steps] == [s.duration_ns for s in recorded.steps]


def test_nvprof(recorded: Trace, tmp_path: Path) -> None:
    write_nvprof(recorded, tmp_path / "step.nvvp")
    trace = tidy.load(tmp_path / "step.nvvp")
    trace.self_check()
    assert described(trace) == described(recorded)
    assert trace.capabilities == recorded.capabilities - {Capability.SHAPES}


def test_findings_are_the_same(recorded: Trace, tmp_path: Path) -> None:
    """But for those that need dtypes, which no range has."""
    write_nsys(recorded, tmp_path / "step.sqlite")
    trace = tidy.load(tmp_path / "step.sqlite")
    found = [tidy.check(each, ignore=["TDY5"]) for each in (recorded, trace)]
    codes = [[finding.code for finding in report.findings] for report in found]
    assert codes[0] == codes[1]
    assert "TDY101" in codes[0]


@pytest.mark.parametrize("name", ["train_cnn", "train_cnn_fixed", "train_half"])
def test_a_recorded_run_without_its_python_frames(name: str, tmp_path: Path) -> None:
    document = json.loads(gzip.decompress((_EXAMPLES / f"{name}.json.gz").read_bytes()))
    events = document["traceEvents"]
    document["traceEvents"] = [e for e in events if e.get("cat") != "python_function"]
    (tmp_path / "run.json").write_text(json.dumps(document), "utf-8")
    recorded = tidy.load(tmp_path / "run.json")
    write_nsys(recorded, tmp_path / "run.sqlite")
    trace = tidy.load(tmp_path / "run.sqlite")
    trace.self_check()
    assert _with_flat_lists(described(trace)) == _with_flat_lists(described(recorded))
    assert len(trace.forward) == len(recorded.forward) > 0
    assert trace.capabilities == recorded.capabilities - {Capability.MEMORY, Capability.SHAPES}


def _with_flat_lists(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The text of a range has the sizes of a list of tensors in a row."""

    def one_row(shapes: tuple[Any, ...]) -> list[Any]:
        found: list[Any] = []
        for each in shapes:
            found += each if each and isinstance(each[0], tuple) else [each]
        return found

    return [(*row[:5], one_row(row[5]), *row[6:]) for row in rows]


@pytest.mark.oracle
@pytest.mark.parametrize("name", _ON_GPUS if SOAK else _ON_GPUS[:1])
def test_a_run_on_a_gpu(name: str, tmp_path: Path) -> None:
    recorded = tidy.load(path_of(name))
    write_nsys(recorded, tmp_path / "run.sqlite")
    trace = tidy.load(tmp_path / "run.sqlite")
    trace.self_check()
    keep = slice(0, 5)
    both = [[(*row[keep], *row[6:]) for row in described(each)] for each in (trace, recorded)]
    assert both[0] == both[1]
