"""Files of nvprof."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tidy
from tidy.errors import TraceFormatError
from tidy.profiler.autograd_profiler import load_nvprof
from tidy.readers.sqlite import database
from tidy.trace import Capability, EventKind, Trace

from .sqlite_files import NvprofFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "profile.nvvp"


def _load(path: Path) -> Trace:
    trace = tidy.load(path)
    trace.self_check()
    return trace


def _warning(trace: Trace, about: str) -> str:
    (found,) = (warning for warning in trace.info.warnings if about in warning)
    return found


def test_every_kind_of_row(path: Path) -> None:
    with NvprofFile(path) as file:
        name = file.string("Tesla V100-SXM2-16GB")
        file.row(
            "CUPTI_ACTIVITY_KIND_DEVICE",
            id=0,
            name=name,
            uuid=b"",
            computeCapabilityMajor=7,
            globalMemorySize=16 << 30,
            numThreadsPerWarp=32,
        )
        file.row("CUPTI_ACTIVITY_KIND_CONTEXT", contextId=1, deviceId=0)
        file.range("mul, seq = 4", 100, 900)
        file.range("evaluate", 950, 990)
        file.marker(1, 960, 77, file.string("moment"))
        file.call(41, 110, 120, 1)
        file.call(51, 130, 140, 2)
        file.call(211, 150, 160, 3)
        file.call(307, 165, 170, 6, table="DRIVER")
        file.call(165, 180, 400, 5)
        file.call(9999, 401, 402, 7)
        file.work("MEMCPY", 121, 129, 1, copyKind=1, srcKind=1, dstKind=3, bytes=32)
        file.work("MEMSET", 141, 145, 2, memoryKind=3, bytes=64)
        file.kernel("sgemm", 200, 300, 3, streamId=13, cacheConfig=b"")
        file.kernel("triton_poi_0", 300, 310, 6, cacheConfig=b"", table="KERNEL")
        file.work("SYNCHRONIZATION", 190, 395, 5, type=4, streamId=0)
    trace = _load(path)
    (op,) = trace.named("aten::mul")
    assert op.sequence_nr == 4
    assert [call.name for call in op.runtime_calls] == [
        "cudaMemcpyAsync",
        "cudaMemsetAsync",
        "cudaLaunchKernel",
        "cuLaunchKernel",
        "cudaDeviceSynchronize",
        "CUDA runtime call 9999",
    ]
    works = [(w.name, w.duration_ns, w.device, w.stream, w.nbytes) for w in op.kernels]
    assert works == [
        ("Memcpy HtoD (Pageable -> Device)", 8, 0, 7, 32),
        ("Memset (Device)", 4, 0, 7, 64),
        ("sgemm", 100, 0, 13, 0),
        ("triton_poi_0", 10, 0, 7, 0),
    ]
    (sync,) = trace.of_kind(EventKind.Sync)
    assert (sync.name, sync.device) == ("Context Sync", 0)
    (annotation,) = trace.of_kind(EventKind.Annotation)
    assert (annotation.name, annotation.track) == ("evaluate", (7, 9))
    assert trace.devices[0].compute == (7, 0)
    assert trace.devices[0].total_memory_nbytes == 16 << 30
    assert trace.capabilities == {Capability.OPS, Capability.DEVICE}
    assert trace.info.warnings == []


def test_threads_are_the_same_in_both_tables(path: Path) -> None:
    """Calls have 32 bits of the thread with a sign, markers without."""
    with NvprofFile(path) as file:
        for tid in (-1142654784, 1142654784):
            file.range("aten::mul", 100, 200, tid=tid)
            file.call(211, 110, 120, abs(tid) + tid + 1, tid=tid)
    ops = list(_load(path).named("aten::mul"))
    assert [len(op.runtime_calls) for op in ops] == [1, 1]


def test_duplicates_are_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that PyTorch's function raises an error for."""
    monkeypatch.setattr(database, "CHUNK_ROWS", 1)
    with NvprofFile(path) as file:
        marker = file.range("aten::mul", 100, 200)
        file.marker(2, 150, marker, file.string("aten::add"))
        file.marker(4, 250, marker, 0)
        file.call(211, 110, 120, 1)
        file.call(211, 110, 120, 1)
        for table in ("KERNEL", "CONCURRENT_KERNEL"):
            file.kernel("sgemm", 130, 140, 1, cacheConfig=b"", table=table)
        file.kernel("another of a graph", 150, 160, 1, cacheConfig=b"")
    trace = _load(path)
    assert [(op.name, op.duration_ns) for op in trace.of_kind(EventKind.TorchOp)] == [
        ("aten::mul", 100)
    ]
    assert [kernel.name for kernel in trace.of_kind(EventKind.Kernel)] == [
        "sgemm",
        "another of a graph",
    ]
    counts = [w.rpartition(": ")[2] for w in trace.info.warnings if "duplicates of" in w]
    assert counts == ["1", "1", "2"]  # calls, kernels, the two ends of a range


def test_ranges_that_never_ended(path: Path) -> None:
    with NvprofFile(path) as file:
        file.range("training", 10, None)
        file.range("aten::mul", 20, 30)
    trace = _load(path)
    (training,) = trace.named("training")
    assert [child.name for child in training.children] == ["aten::mul"]
    assert "never ended" in _warning(trace, "1")


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt")
def test_names_are_readable(path: Path) -> None:
    with NvprofFile(path) as file:
        for number, name in enumerate(("_ZN2at6native4gemmIfEEvi", "_Znonsense", "plain")):
            file.kernel(name, 10 * number, 10 * number + 5, number + 1, cacheConfig=b"")
    names = [kernel.name for kernel in _load(path).of_kind(EventKind.Kernel)]
    assert names == ["void at::native::gemm<float>(int)", "_Znonsense", "plain"]


def test_names_without_the_tool(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with NvprofFile(path) as file:
        file.kernel("_ZN2at6native4gemmIfEEvi", 1, 2, 1, cacheConfig=b"")
    assert _load(path).names == ["_ZN2at6native4gemmIfEEvi"]


def test_what_is_no_profile(path: Path, tmp_path: Path) -> None:
    with NvprofFile(path) as file:
        file.range("aten::mul", 20, 30)
    assert len(load_nvprof(path)) == 1
    for wrong in (tmp_path, tmp_path / "none"):
        with pytest.raises(TraceFormatError):
            load_nvprof(wrong)


def test_under_pytorchs_name(path: Path) -> None:
    with NvprofFile(path) as file:
        file.range("mul, seq = 4", 100, 900)
    assert [event.name for event in load_nvprof(path).dfs()] == ["aten::mul"]
    with pytest.raises(TraceFormatError, match="no such file"):
        load_nvprof(path.with_name("none.nvvp"))
