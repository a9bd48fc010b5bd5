"""Exports of Nsight Systems: what is in them, and what may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.errors import TraceFormatError
from tidy.readers.sqlite import database
from tidy.trace import Capability, EventKind, Trace

from .sqlite_files import NsysFile

_NODE = "MulBackward0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.sqlite"


def _load(path: Path) -> Trace:
    trace = tidy.load(path)
    trace.self_check()
    return trace


def _warning(trace: Trace, about: str) -> str:
    (found,) = (warning for warning in trace.info.warnings if about in warning)
    return found


def test_every_kind_of_row(path: Path) -> None:
    with NsysFile(path) as file:
        file.gpu(0, "NVIDIA H100", 9, 0)
        file.row("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value="2024.6.2.225")
        file.range("aten::mul, seq = 4", 100, 900)
        file.range(None, 950, 990, textId=file.string("evaluate"))
        file.call("cudaMemcpyAsync_v3020", 110, 120, 1)
        file.call("cudaMemsetAsync_v3020", 130, 140, 2)
        file.call("cudaLaunchKernel_ptsz_v7000", 150, 160, 3)
        file.call("cuLaunchKernel", 170, 175, 4)
        file.call("cudaStreamSynchronize_v3020", 180, 400, 5)
        file.work("MEMCPY", 121, 129, 1, copyKind=2, srcKind=2, dstKind=1, bytes=32)
        file.work("MEMSET", 141, 145, 2, memKind=2, bytes=64, value=0)
        file.kernel("void at::native::gemm<float>(int)", 200, 300, 3, gridX=4, streamId=13)
        file.kernel("triton_poi_0", 300, 310, 4, deviceId=1)
        file.work("SYNCHRONIZATION", 190, 395, 5, syncType=3)
        file.work("GRAPH_TRACE", 400, 500, 4, graphId=6)
        file.row("PROFILER_OVERHEAD", start=50, end=60, nameId=file.string("CUDA profiling"))
    trace = _load(path)
    (op,) = trace.named("aten::mul")
    calls = [call.name for call in op.runtime_calls]
    launch = ["cudaMemcpyAsync", "cudaMemsetAsync", "cudaLaunchKernel", "cuLaunchKernel"]
    assert calls == [*launch, "cudaStreamSynchronize"]
    works = [
        (work.name, work.kind, work.duration_ns, work.device, work.stream, work.nbytes)
        for work in op.kernels
    ]
    assert works == [
        ("Memcpy DtoH (Device -> Pinned)", EventKind.Memcpy, 8, 0, 7, 32),
        ("Memset (Device)", EventKind.Memset, 4, 0, 7, 64),
        ("void at::native::gemm<float>(int)", EventKind.Kernel, 100, 0, 13, 0),
        ("triton_poi_0", EventKind.Kernel, 10, 1, 7, 0),
        ("CUDA graph 6", EventKind.Kernel, 100, 0, 7, 0),
    ]
    (sync,) = trace.of_kind(EventKind.Sync)
    assert (sync.name, sync.parent and sync.parent.name) == ("Stream Sync", "cudaStreamSynchronize")
    (overhead,) = trace.of_kind(EventKind.Overhead)
    assert overhead.name == "CUDA profiling"
    (annotation,) = trace.of_kind(EventKind.Annotation)
    assert (annotation.name, annotation.track) == ("evaluate", op.track)
    assert op.track == (7, 7)
    assert trace.info.header["profiler"] == "Nsight Systems 2024.6.2.225"
    # One kind of GPU in the machine: also that of the index it does not list.
    assert {device.compute for device in trace.devices.values()} == {(9, 0)}


def test_devices_of_a_process_have_numbers_of_their_own(path: Path) -> None:
    with NsysFile(path) as file:
        file.gpu(0, "Tesla T4", 7, 5)
        file.gpu(3, "NVIDIA A100", 8, 0)
        file.row("TARGET_INFO_CUDA_DEVICE", gpuId=3, cudaId=0, pid=7)
        file.call("cudaLaunchKernel_v7000", 1, 2, 1)
        file.kernel("k", 3, 4, 1)
    devices = _load(path).devices
    assert {i: (d.name, d.compute) for i, d in devices.items()} == {0: ("NVIDIA A100", (8, 0))}


def test_processes_number_their_calls_alike(path: Path) -> None:
    """One beside that of the GPU, such as a loader's worker; each has call 1 and number 5."""
    with NsysFile(path) as file:
        for pid in (11, 12):
            file.range("aten::mul, seq = 5", pid, 100 + pid, pid=pid, tid=pid)
            file.call("cudaLaunchKernel_v7000", 20 + pid, 30 + pid, 1, pid=pid, tid=pid)
            file.range(f"{_NODE}, seq = 5", 200, 300, pid=pid, tid=pid + 50)
        file.kernel("of_11", 60, 70, 1, pid=11)
    trace = _load(path)
    launched = {op.track.pid: [k.name for k in op.kernels] for op in trace.named("aten::mul")}
    assert launched == {11: ["of_11"], 12: []}
    linked = [(op.track.pid, op.forward and op.forward.track.pid) for op in trace.named(_NODE)]
    assert sorted(linked) == [(11, 11), (12, 12)]


def test_of_processes_that_use_a_gpu_that_with_most_work_is_read(path: Path) -> None:
    """Two ranks that both see their GPU as device 0, and a loader's worker of the second."""
    with NsysFile(path) as file:
        file.gpu(0, "Tesla T4", 7, 5)
        file.gpu(1, "NVIDIA A100", 8, 0)
        for pid in (11, 12):
            file.row("TARGET_INFO_CUDA_DEVICE", gpuId=pid - 11, cudaId=0, pid=pid)
            for number in range(pid - 10):
                at = 100 * number
                file.range(f"ProfilerStep#{number}", at, at + 90, pid=pid, tid=pid)
                file.range("request", at, at + 80, pid=pid, eventType=60)
                file.call("cudaLaunchKernel_v7000", at + 5, at + 9, number + 1, pid=pid, tid=pid)
                file.kernel(f"of_{pid}", at + 10, at + 20, number + 1, pid=pid)
                file.work("SYNCHRONIZATION", at + 30, at + 40, 0, syncType=3, pid=pid)
        file.range("worker", 10, 20, pid=13, tid=13)
    trace = _load(path)
    assert set(trace.names) >= {"of_12", "worker"}
    assert {track.pid for track in trace.tracks if track.pid > 10} == {12, 13}
    assert [step.number for step in trace.steps] == [0, 1]
    assert trace.devices[0].name == "NVIDIA A100"
    assert "only 12, with most time on devices" in _warning(trace, "2 processes use a GPU")


def test_a_process_is_chosen_by_how_long_its_work_takes(path: Path) -> None:
    """One that evaluates has many short kernels, the one that trains a few long ones."""
    with NsysFile(path) as file:
        for number in range(50):
            file.kernel("short", 100 * number, 100 * number + 5, 0, pid=11)
        for number in range(3):
            file.kernel("long", 1000 * number, 1000 * number + 900, 0, pid=12)
        file.kernel("endless", 10, 1 << 62, 0, pid=11)
    trace = _load(path)
    assert set(trace.names) == {"long"}


@pytest.mark.parametrize("registered", [False, True])
def test_of_ranks_on_the_cpu_one_is_read(path: Path, registered: bool) -> None:
    """Their ranges are those of two steps each; a loader's worker has none of these."""
    with NsysFile(path) as file:

        def add(text: str, start: int, end: int, pid: int) -> None:
            number = file.string(text) if registered else None
            file.range(None if registered else text, start, end, pid=pid, tid=pid, textId=number)

        for pid in (11, 12):
            for at in (0, 1000):
                add(f"aten::of_{pid}, seq = 1", at, at + 10 * pid, pid)
                add("Optimizer.step#SGD.step, op_id = 9", at + 900, at + 990, pid)
        add("aten::of_worker, op_id = 2", 10, 900, 13)
    trace = _load(path)
    assert {"aten::of_12", "aten::of_worker"} <= set(trace.names)
    assert "aten::of_11" not in set(trace.names)
    assert len(trace.steps) == 2
    assert "only 12, with most time on the host" in _warning(trace, "2 processes train")


def test_a_backward_whose_forward_may_be_on_two_threads_is_not_linked(path: Path) -> None:
    with NsysFile(path) as file:
        for tid in (1, 2):
            file.range("aten::mul, seq = 5", tid, 100 + tid, tid=tid)
        file.range("aten::mul, seq = 6", 110, 120, tid=2)
        file.range(f"{_NODE}, seq = 6", 200, 250, tid=3)
        file.range(f"{_NODE}, seq = 5", 300, 350, tid=3)
        file.range(f"{_NODE}, seq = 5", 400, 450, tid=2)  # as a backward on the CPU runs
    trace = _load(path)
    linked = {op.start_ns: op.forward and op.forward.start_ns for op in trace.named(_NODE)}
    assert linked == {200: 110, 300: None, 400: 2}
    assert _warning(trace, "links of backward ops").endswith(": 1")


def test_a_backward_without_a_forward_in_the_trace(path: Path) -> None:
    with NsysFile(path) as file:
        file.range("aten::mul, seq = 5", 1, 2)
        file.range(f"autograd::engine::evaluate_function: {_NODE}", 10, 30)
        file.range(f"{_NODE}, stashed seq = 3", 11, 29)
    trace = _load(path)
    (node,) = trace.named(_NODE)
    assert (node.sequence_nr, node.forward) == (3, None)
    assert node.parent is not None
    assert node.parent.sequence_nr == 3


def test_ranges_that_never_ended(path: Path) -> None:
    with NsysFile(path) as file:
        file.range("training", 10, None)
        file.range("aten::mul", 20, 30)
        file.kernel("k", 35, 90, 0)
    trace = _load(path)
    (training,) = trace.named("training")
    assert training.end_ns == 90
    assert [child.name for child in training.children] == ["aten::mul"]
    assert _warning(trace, "never ended").endswith(": 1")


def test_ranges_that_need_not_nest_leave_the_tree_alone(path: Path) -> None:
    with NsysFile(path) as file:
        file.range("aten::linear", 10, 50)
        file.range("aten::addmm", 20, 40)
        file.range("request", 15, 30, eventType=60, rangeId=1)
        file.range("moment", 16, None, eventType=34)
    trace = _load(path)
    (addmm,) = trace.named("aten::addmm")
    assert addmm.parent is not None
    assert addmm.parent.name == "aten::linear"
    (request,) = trace.named("request")
    assert (request.parent, request.duration_ns) == (None, 15)
    assert not list(trace.named("moment"))


def test_what_was_not_recorded(path: Path) -> None:
    with NsysFile(path) as file:
        file.kernel("k", 35, 90, 0)
    trace = _load(path)
    assert trace.capabilities == {Capability.DEVICE}
    assert "emit_nvtx" in _warning(trace, "no operators")
    assert not trace.is_cpu_run
    with NsysFile(path.with_name("host.sqlite")) as file:
        file.range("aten::mul, sizes = [[2], []]", 20, 30)
    trace = _load(path.with_name("host.sqlite"))
    assert trace.capabilities == {Capability.OPS}  # the shapes alone are no use to the rules
    (op,) = trace.named("aten::mul")
    assert (op.input_shapes, op.input_dtypes) == (((2,), ()), ())
    assert "no dtypes" in _warning(trace, "dtypes")
    assert not trace.is_cpu_run  # nothing says that there was no GPU


def test_tables_and_columns_of_other_versions(path: Path) -> None:
    """2020: no textId, no globalPid, no srcKind, NOT NULL throughout; kinds named by a table."""
    with NsysFile(path) as file:
        at = "start INT NOT NULL, end INT NOT NULL"
        file.schema = {
            **file.schema,
            "NVTX_EVENTS": f"{at}, eventType INT NOT NULL, text TEXT, globalTid INT",
            "CUPTI_ACTIVITY_KIND_KERNEL": f"{at}, streamId INT, correlationId INT, shortName INT",
            "CUPTI_ACTIVITY_KIND_MEMCPY": f"{at}, copyKind INT, correlationId INT",
            "CUPTI_ACTIVITY_KIND_MEMSET": f"{at}, memKind INT, globalPid INT",
            "ENUM_CUDA_MEM_KIND": "id INT, name TEXT, label TEXT",
        }
        file.row("NVTX_EVENTS", start=1, end=9, eventType=59, text="aten::mm", globalTid=77)
        file.row("ENUM_CUDA_MEM_KIND", id=41, name="NEW", label="Tensor")
        name = file.string("gemm")
        file.row("CUPTI_ACTIVITY_KIND_KERNEL", start=3, end=4, streamId=2, shortName=name)
        file.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=5, end=6, copyKind=99)
        file.row("CUPTI_ACTIVITY_KIND_MEMSET", start=7, end=8, memKind=41)
    assert [event.name for event in _load(path).events()] == [
        "aten::mm",
        "gemm",
        "Memcpy Unknown (Unknown -> Unknown)",
        "Memset (Tensor)",
    ]


def test_names_that_the_file_does_not_have(path: Path) -> None:
    """2021: no NULLs; what is not there is "" or 0."""
    with NsysFile(path) as file:
        file.range("", 1, 90, textId=file.string("evaluate"))
        file.range("aten::mm", 2, 80, textId=0)
        file.range(None, 3, 70, textId=99)
        file.work("KERNEL", 4, 9, 0, demangledName=98, shortName=97)
    trace = _load(path)
    assert [event.name for event in trace.events()] == ["evaluate", "aten::mm", "", "kernel"]
    assert _warning(trace, "table of strings").endswith(": 2")


def test_names_of_what_is_not_read_are_not_missed(path: Path) -> None:
    with NsysFile(path) as file:
        file.range(None, 3, None, textId=99, eventType=34)  # a mark
        for pid, end in ((11, 10), (12, 90)):
            file.kernel("gemm", 1, end, 0, pid=pid)
        file.range(None, 3, 9, textId=98, pid=11)
    trace = _load(path)
    assert not [each for each in trace.info.warnings if "table of strings" in each]


def test_times_that_are_none(path: Path) -> None:
    with NsysFile(path) as file:
        file.kernel("good", 10, 20, 0)
        file.kernel("endless", 10, 1 << 62, 0)
        file.kernel("word", "soon", "later", 0)
        file.kernel("back", 30, 25, 0)
    trace = _load(path)
    assert {k.name: k.duration_ns for k in trace.events()} == {"good": 10, "word": 0, "back": 0}
    assert _warning(trace, "usable time").endswith(": 1")
    assert _warning(trace, "negative").endswith(": 1")


def test_chunks_do_not_show(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with NsysFile(path) as file:
        for number in range(50):
            at = 100 * number
            file.range(f"aten::op{number % 7}, seq = {number}", at, at + 90)
            file.call("cudaLaunchKernel_v7000", at + 10, at + 20, number + 1)
            file.kernel(f"kernel{number % 3}", at + 30, at + 40, number + 1)
            file.range(f"{_NODE}, seq = {number}", 99_000 - at, 99_050 - at, tid=8)
    whole = _load(path)
    monkeypatch.setattr(database, "CHUNK_ROWS", 7)
    seen: list[int] = []
    pieces = tidy.load(path, seen.append)
    assert [repr(e) for e in pieces.events()] == [repr(e) for e in whole.events()]
    assert pieces.forward == whole.forward
    assert len(whole.forward) == 50
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size


def test_what_is_no_export(path: Path, tmp_path: Path) -> None:
    with NsysFile(path) as file:
        file.range("aten::mul", 20, 30)
    assert len(_load(path)) == 1
    other = tmp_path / "other"
    other.write_text("{}")
    for wrong in (other, tmp_path / "none"):
        with pytest.raises(TraceFormatError):
            tidy.load(wrong)
