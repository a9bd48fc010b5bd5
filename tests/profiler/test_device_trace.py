"""What a modelled device did is in the trace as CUDA's work is in PyTorch's traces."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import tidy
import tidy.runtime as rt
from tidy.profiler import ProfilerActivity, profile
from tidy.runtime.modelled import activity, clock
from tidy.trace.kinds import DEVICE_KINDS, EventKind

from .modelled import KERNEL, PROPERTIES, ModelledDevice, OnDevice, configure, step
from .test_round_trip import rows

_FULL = {"record_shapes": True, "with_stack": True, "profile_memory": True}


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> ModelledDevice:
    return configure(monkeypatch)


def exported(prof: profile, folder: Path) -> dict[str, Any]:
    prof.export_chrome_trace(folder / "t.json")
    found: dict[str, Any] = json.loads((folder / "t.json").read_text("utf-8"))
    return found


def all_of(trace: tidy.Trace) -> list[tuple[Any, ...]]:
    """Each event with its place on a device, and its parent."""
    found = []
    for each in trace.events():
        if each.kind != EventKind.Other:
            above = (each.parent.name, each.parent.start_ns) if each.parent else None
            found.append((above, each.device, each.stream, each.correlation))
    # A row's number counts the span of the recording, which only the file has.
    host = [(*row[:11], *row[12:]) for row in rows(trace)]
    return [(*a, *b) for a, b in zip(host, found, strict=True)]


@pytest.mark.parametrize("options", [{}, _FULL], ids=["plain", "full"])
def test_the_file_holds_what_memory_does(
    device: ModelledDevice, tmp_path: Path, options: dict[str, bool]
) -> None:
    with profile(**options) as prof:
        step(device)
        step(device)
    prof.export_chrome_trace(tmp_path / "t.json")
    read = tidy.load(tmp_path / "t.json")
    assert not read.info.warnings
    for each in (prof.trace, read):
        each.self_check()
    assert all_of(prof.trace) == all_of(read)
    assert prof.trace.devices == read.devices
    kinds = {EventKind(kind) for kind in read.kind}
    assert kinds >= {*DEVICE_KINDS, EventKind.Runtime}
    assert {EventKind.Allocation, EventKind.OutOfMemory} <= kinds or not options


def test_work_belongs_to_the_operator_that_launched_it(
    device: ModelledDevice, tmp_path: Path
) -> None:
    with profile() as prof:
        step(device)
    prof.export_chrome_trace(tmp_path / "t.json")
    for trace in (prof.trace, tidy.load(tmp_path / "t.json")):
        (op,) = trace.named("OnDevice")
        assert [kernel.name for kernel in op.kernels] == ["forward_kernel"]
        assert [call.name for call in op.runtime_calls] == ["cudaLaunchKernel"]
        assert [child.name for child in op.children] == ["aten::add", "aten::mul"]
        (node,) = trace.named("OnDeviceBackward")
        assert [kernel.name for kernel in node.kernels] == ["backward_kernel"]
        assert op.device_ns == 20_000
        for child in op.children:
            assert not child.kernels
            assert op.start_ns <= child.start_ns <= child.end_ns <= op.end_ns


def test_numpys_time_is_not_the_hosts(device: ModelledDevice) -> None:
    """The launch took 50 ms to compute and counts 5 us; before and after it time is real."""
    with profile(profile_memory=True, with_stack=True) as prof:
        step(device)
    trace = prof.trace
    (op,) = trace.named("OnDevice")
    (call,) = op.runtime_calls
    assert call.duration_ns == 5000
    assert 5000 <= op.duration_ns < OnDevice.REAL_NS
    before, after = (e for e in op.descendants() if e.kind == EventKind.TorchOp)
    assert before.end_ns <= call.start_ns
    assert call.end_ns <= after.start_ns
    (kernel,) = op.kernels
    assert kernel.start_ns >= call.end_ns
    (sync,) = trace.named("cudaStreamSynchronize")
    assert sync.end_ns >= max(each.end_ns for each in trace.of_kind(EventKind.Kernel))


def test_the_events_are_kinetos(device: ModelledDevice, tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        step(device)
    events = exported(prof, tmp_path)["traceEvents"]
    ops = {e["args"]["External id"]: e for e in events if e.get("cat") == "cpu_op"}
    calls = [e for e in events if e.get("cat") == "cuda_runtime"]
    assert {e["name"]: e["args"]["cbid"] for e in calls} == {
        "cudaLaunchKernel": 211,
        "cudaMemcpyAsync": 41,
        "cudaMemsetAsync": 51,
        "cudaStreamSynchronize": 131,
        "cudaDeviceSynchronize": 165,
    }
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    for each in work:
        (call,) = (c for c in calls if c["args"]["correlation"] == each["args"]["correlation"])
        assert call["args"].get("External id") == each["args"].get("External id")
        assert (each["pid"], each["tid"]) == (0, 7)
        number = each["args"]["correlation"]
        arrow = {e["ph"]: e for e in events if e.get("cat") == "ac2g" and e["id"] == number}
        for ph, end in (("s", call), ("f", each)):
            assert [arrow[ph][key] for key in ("pid", "tid", "ts")] == (
                [end[key] for key in ("pid", "tid", "ts")]
            )
        assert arrow["f"]["bp"] == "e"
    kernels = {e["name"]: e["args"] for e in work if e["cat"] == "kernel"}
    forward = kernels["forward_kernel"]
    assert ops[forward["External id"]]["name"] == "OnDevice"
    assert ops[kernels["backward_kernel"]["External id"]]["name"] == "OnDeviceBackward"
    assert forward.items() >= KERNEL.items()
    place = {"device": 0, "context": 1, "stream": 7, "queued": 0}
    assert forward.items() >= (place | {"Reads": [1, 2], "Writes": [3]}).items()
    (copy,) = (e["args"] for e in work if e["cat"] == "gpu_memcpy")
    assert "External id" not in copy  # no operator made it
    assert (copy["bytes"], copy["memory bandwidth (GB/s)"]) == (4000, 0.4)
    syncs = [e for e in events if e.get("cat") == "cuda_sync"]
    found = [(e["tid"], e["name"], e["args"]["cuda_sync_kind"]) for e in syncs]
    assert found == [(7, "Stream Sync", "Stream Sync"), (-1, "Context Sync", "Context Sync")]
    memory = [e["args"] for e in events if e["ph"] == "i" and e["args"]["Device Type"] == 1]
    assert [e["Bytes"] for e in memory] == [512, -512, 1 << 40]
    assert memory[0]["Total Reserved"] == 2 << 20
    named = {(e["pid"], e["tid"], e["name"]): e["args"] for e in events if e["ph"] == "M"}
    assert named[0, 0, "process_labels"] == {"labels": "GPU 0"}
    assert named[0, 7, "thread_name"] == {"name": "stream 7"}


def test_ranges_show_on_the_streams(device: ModelledDevice) -> None:
    with profile() as prof, rt.record_function("outer"):
        device.launch("before")
        with rt.record_function("inner"):
            device.launch("within")
        device.launch("after")
    (before,), (within,), (after,) = map(prof.trace.named, ("before", "within", "after"))
    shadows = list(prof.trace.of_kind(EventKind.DeviceAnnotation))
    assert [(each.name, each.track, each.start_ns, each.end_ns) for each in shadows] == [
        ("outer", (0, 7), before.start_ns - 1, after.end_ns + 1),
        ("inner", (0, 7), within.start_ns - 1, within.end_ns + 1),
    ]


def test_the_header_says_that_the_device_is_modelled(
    device: ModelledDevice, tmp_path: Path
) -> None:
    with profile() as prof:
        step(device)
    found = exported(prof, tmp_path)
    assert found["tidy_modelled_device"] is True
    assert found["deviceProperties"] == [{"id": 0, **PROPERTIES}]
    assert found["cuda_runtime_version"] >= 12000
    assert prof.trace.devices[0].compute == (8, 0)


def test_calls_of_several_threads(device: ModelledDevice) -> None:
    def work() -> None:
        for _ in range(3):
            OnDevice.apply(rt.ones(2), device, 0)

    threads = [threading.Thread(target=work) for _ in range(3)]
    with profile() as prof:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    ops = list(prof.trace.named("OnDevice"))
    assert len(ops) == 9
    assert len({op.track for op in ops}) == 3
    for op in ops:
        (call,), (kernel,) = op.runtime_calls, op.kernels
        assert call.track == op.track
        assert kernel.correlation == call.correlation


def test_averages_have_the_devices_columns(device: ModelledDevice) -> None:
    with profile(profile_memory=True) as prof:
        step(device)
        with rt.record_function("holds"):
            device.allocate(1024, 1024)
    averages = {average.key: average for average in prof.key_averages()}
    assert averages["OnDevice"].device_time_total == 20
    assert averages["forward_kernel"].self_device_time_total == 20
    assert averages["holds"].device_memory_usage == 1024
    assert "CUDA Mem" in prof.table()
    assert "CUDA total" in prof.table(sort_by="self_device_time_total")


def test_the_profiler_waits_for_the_device(device: ModelledDevice) -> None:
    with profile() as prof:
        device.launch(lasts_ns=10**9)
    (kernel,) = prof.trace.of_kind(EventKind.Kernel)
    assert kernel.duration_ns == 10**9
    assert prof.piece.end_ns >= kernel.end_ns


def test_recordings_follow_each_other_in_modelled_time(device: ModelledDevice) -> None:
    """Of two steps the first is computed in 50 ms; the second begins where it ended."""
    found: list[tuple[int, int]] = []
    before = clock.unix_ns()

    def keep(prof: profile) -> None:
        found.append((prof.piece.start_ns, prof.piece.end_ns))

    for _ in range(2):
        with profile(on_trace_ready=keep):
            device.launch(real_ns=50_000_000)
    times = [before, *found[0], *found[1], clock.unix_ns()]
    assert times == sorted(times)


def test_a_stretch_that_began_before_the_recording(device: ModelledDevice) -> None:
    """Only what is left of it is replaced, so that no event is before the recording."""
    begin = time.perf_counter_ns()
    while time.perf_counter_ns() < begin + 20_000_000:
        pass
    before = clock.unix_ns()
    with profile() as prof:
        rt.ones(1)
        clock.count(begin, time.perf_counter_ns(), 10**6)
        rt.ones(2)
    first, second = prof.trace.named("aten::ones")
    times = [before, prof.piece.start_ns, first.start_ns, first.end_ns, second.start_ns]
    assert times == sorted(times)
    assert second.start_ns - prof.piece.start_ns >= 10**6


def test_what_is_kept_is_what_was_asked_for(device: ModelledDevice) -> None:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        step(device)
    kinds = {EventKind(kind) for kind in prof.trace.kind}
    assert not kinds & {*DEVICE_KINDS, EventKind.Runtime, EventKind.OutOfMemory}
    (op,) = prof.trace.named("OnDevice")
    assert op.duration_ns < OnDevice.REAL_NS
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        step(device)
    kinds = {EventKind(kind) for kind in prof.trace.kind}
    assert EventKind.Kernel in kinds
    assert EventKind.OutOfMemory not in kinds


def test_without_a_device(tmp_path: Path) -> None:
    with profile(**_FULL) as prof:
        rt.ones(3, requires_grad=True).sum().backward()
    found = exported(prof, tmp_path)
    assert found["deviceProperties"] == []
    assert not {"tidy_modelled_device", "cuda_runtime_version"} & set(found)
    assert not any(e.get("cat") in ("cuda_runtime", "ac2g") for e in found["traceEvents"])
    assert prof.trace.is_cpu_run
    assert activity.logs == []
    assert clock.turns == []


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_holistic_trace_analysis_reads_it(device: ModelledDevice, tmp_path: Path) -> None:
    analysis = pytest.importorskip("hta.trace_analysis").TraceAnalysis
    with profile(schedule=None) as prof:
        for number in range(3):
            with rt.record_function(f"ProfilerStep#{number}"):
                step(device)
    prof.add_metadata_json("distributedInfo", '{"rank": 0}')
    prof.export_chrome_trace(tmp_path / "t.json.gz")
    found = analysis(trace_files={0: str(tmp_path / "t.json.gz")}, trace_dir="")
    times = found.get_temporal_breakdown(visualize=False)
    busy = times["compute_time(us)"].iloc[0] + times["non_compute_time(us)"].iloc[0]
    assert busy > 0
    launches = found.get_cuda_kernel_launch_stats(visualize=False)[0]
    # It leaves out the last step, and rounds each end down to whole microseconds.
    assert len(launches) >= 2 * 4
    lasts_ns = {e.correlation: e.duration_ns for e in prof.trace.events() if e.device == 0}
    for row in launches.itertuples():
        assert abs(row.gpu_duration * 1000 - lasts_ns[row.correlation]) <= 1000
