"""The devices' part of a file in Kineto's format: calls, work on streams, arrows between them.

`Reads` and `Writes` are no arguments of Kineto's: numbers of the memory that a piece of work
touches, which no other memory of the process ever has. Source: libkineto/src/CuptiActivity.cpp,
output_json.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..runtime.modelled import DeviceWork, RuntimeCall
from .device_part import HAS_NBYTES
from .piece import DevicePart

Json = dict[str, Any]
Timed = tuple[Json, int, int | None]  # the event, its start, its duration if it has one
Place = tuple[int | str, int | str]

# CUPTI's numbers of calls that are modelled (cupti_runtime_cbid.h); one without has no `cbid`.
_CALLBACK_IDS = {
    "cudaMalloc": 20,
    "cudaFree": 22,
    "cudaMemcpyAsync": 41,
    "cudaMemsetAsync": 51,
    "cudaStreamSynchronize": 131,
    "cudaEventRecord": 135,
    "cudaEventSynchronize": 137,
    "cudaStreamWaitEvent": 147,
    "cudaDeviceSynchronize": 165,
    "cudaLaunchKernel": 211,
    "cudaLaunchKernelExC": 430,
}
_FIRST_SORT_INDEX = 5_000_000  # devices stand below the threads of the host
_ARROW = {"cat": "ac2g", "name": "ac2g"}


def device_metadata(part: DevicePart) -> Iterator[Json]:
    """Names of devices and streams."""
    devices = sorted({work.device for work in part.work})
    for device in devices:
        yield naming("process_name", device, 0, {"name": "python"})
        yield naming("process_labels", device, 0, {"labels": f"GPU {device}"})
        order = {"sort_index": _FIRST_SORT_INDEX + device}
        yield naming("process_sort_index", device, 0, order)
    for device, stream in sorted({(work.device, work.stream) for work in part.work}):
        name = f"stream {stream}" if stream >= 0 else f"Device {device}"
        yield naming("thread_name", device, stream, {"name": name})
        yield naming("thread_sort_index", device, stream, {"sort_index": stream})


def naming(name: str, pid: int, tid: int, args: Json) -> Json:
    """Metadata of a process or thread."""
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def ranged(category: str, name: str, track: Place, span: tuple[int, int], args: Json) -> Timed:
    """Return an event with a start and an end."""
    (pid, tid), (start_ns, end_ns) = track, span
    event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "args": args}
    return event, start_ns, end_ns - start_ns


def device_events(part: DevicePart, pid: int) -> Iterator[Timed]:
    """Calls and work, with an arrow from each call to what it launched."""
    op_of = part.external_ids
    launched = {work.correlation for work in part.work if work.kind != "cuda_sync"}
    for call in part.calls:
        yield _call(call, pid, op_of)
        if call.correlation in launched:
            start = {"ph": "s", "id": call.correlation, "pid": pid, "tid": call.ident}
            yield start | _ARROW, call.start_ns, None
    called = {call.correlation for call in part.calls}
    for work in part.work:
        yield _work(work, op_of)
        if work.kind != "cuda_sync" and work.correlation in called:
            end = {"ph": "f", "id": work.correlation, "pid": work.device, "tid": work.stream}
            yield end | _ARROW | {"bp": "e"}, work.start_ns, None
    for shadow in part.shadows:
        place, span = (shadow.device, shadow.stream), (shadow.start_ns, shadow.end_ns)
        args = {"External id": shadow.external_id}
        yield ranged("gpu_user_annotation", shadow.name, place, span, args)


def _call(call: RuntimeCall, pid: int, external_ids: dict[int, int]) -> Timed:
    args = _external_id(call.correlation, external_ids)
    if call.name in _CALLBACK_IDS:
        args["cbid"] = _CALLBACK_IDS[call.name]
    args["correlation"] = call.correlation
    span = call.start_ns, call.end_ns
    return ranged("cuda_runtime", call.name, (pid, call.ident), span, args)


def _work(work: DeviceWork, external_ids: dict[int, int]) -> Timed:
    args = _external_id(work.correlation, external_ids)
    if work.kind == "kernel":
        args["queued"] = 0
    place = {"device": work.device, "context": 1, "stream": work.stream}
    args |= {**place, "correlation": work.correlation, **work.args}
    if work.kind in HAS_NBYTES:
        args["bytes"] = work.nbytes
        duration_ns = work.end_ns - work.start_ns
        if duration_ns:
            args["memory bandwidth (GB/s)"] = work.nbytes / duration_ns
    for name, touched in (("Reads", work.reads), ("Writes", work.writes)):
        if touched:
            args[name] = list(touched)
    span = work.start_ns, work.end_ns
    return ranged(work.kind, work.name, (work.device, work.stream), span, args)


def _external_id(correlation: int, external_ids: dict[int, int]) -> Json:
    found = external_ids.get(correlation)
    return {} if found is None else {"External id": found}
