"""The work of a modelled device during a capture, from the log that the runtime filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..runtime.modelled import ActivityLog, RuntimeCall, clock, logs
from ..trace.kinds import EventKind
from .piece import DevicePart, HostEvent, Shadow
from .timeline import OpenSpans, SystemThreads

# In the order in which they are written.
KIND_OF_WORK = {
    "kernel": EventKind.Kernel,
    "gpu_memcpy": EventKind.Memcpy,
    "gpu_memset": EventKind.Memset,
    "cuda_sync": EventKind.Sync,
}
HAS_NBYTES = ("gpu_memcpy", "gpu_memset")
_PLACE = {kind: place for place, kind in enumerate(KIND_OF_WORK)}
# Of CUDA 12.4, whose names and numbers of calls the traces have.
_VERSIONS = {"cuda_runtime_version": 12040, "cuda_driver_version": 12040}


def finish_device(log: ActivityLog, unix_ns: int, threads: SystemThreads) -> DevicePart:
    """Return the part without what `link_calls` adds.

    Args:
        unix_ns: Unix time less the time of `time.perf_counter_ns`.
        threads: the system's numbers of them.
    """
    part = DevicePart()
    for call in sorted(log.calls, key=lambda call: call.start_ns):
        start, end = call.start_ns + unix_ns, call.end_ns + unix_ns
        ident = threads.at(call.ident, start)
        part.calls.append(call._replace(start_ns=start, end_ns=end, ident=ident))
    for work in sorted(log.work, key=lambda work: (_PLACE[work.kind], work.start_ns)):
        start, end = work.start_ns + unix_ns, work.end_ns + unix_ns
        part.work.append(work._replace(start_ns=start, end_ns=end))
    return part


def link_calls(part: DevicePart, events: Sequence[HostEvent], external_ids: Sequence[int]) -> None:
    """Give each call, and the work it launched, the External id of the innermost operator.

    The innermost range gets a shadow on each stream. A rule of Kineto's: a range around another
    one has none of the latter's work.

    Args:
        events: by start.
        external_ids: one for each event.
    """
    if not part.calls:
        return
    op_of = _innermost(part.calls, events, EventKind.TorchOp)
    part.external_ids = {correlation: external_ids[index] for correlation, index in op_of.items()}
    range_of = _innermost(part.calls, events, EventKind.Annotation)
    spans: dict[tuple[int, int, int], tuple[int, int]] = {}
    for work in part.work:
        index = range_of.get(work.correlation)
        if index is not None and work.kind != "cuda_sync":
            place = index, work.device, work.stream
            start, end = spans.get(place, (work.start_ns, work.end_ns))
            spans[place] = min(start, work.start_ns), max(end, work.end_ns)
    for (index, device, stream), (start, end) in spans.items():
        name, number = events[index].name, external_ids[index]
        part.shadows.append(Shadow(name, start - 1, end + 1, device, stream, number))
    part.shadows.sort(key=lambda shadow: shadow.start_ns)


def _innermost(
    calls: Sequence[RuntimeCall], events: Sequence[HostEvent], kind: EventKind
) -> dict[int, int]:
    """By correlation of a call: the index of the event of a kind that it was made in."""
    by_thread: dict[int, list[tuple[int, int, int]]] = {call.ident: [] for call in calls}
    for index, event in enumerate(events):
        if event.kind == kind and event.tid in by_thread:
            by_thread[event.tid].append((event.start_ns, event.end_ns, index))
    open_at = {tid: OpenSpans(spans) for tid, spans in by_thread.items()}
    innermost = ((c.correlation, open_at[c.ident].innermost(c.start_ns)) for c in calls)
    return {correlation: index for correlation, index in innermost if index is not None}


def wait_for_work() -> None:
    """Let the host wait, in modelled time, until all that was seen is done.

    As PyTorch's profiler does before it stops, so that the recording holds what it has launched.
    """
    latest = max((work.end_ns for log in logs for work in log.work), default=0)
    if latest:
        clock.wait_until(latest)


def device_header(properties: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the header of a trace says of devices: plainly that they are modelled.

    `tidy_modelled_device` is no key of Kineto's. A device's rows were computed, not measured.
    """
    if not properties:
        return {"deviceProperties": []}
    return {"tidy_modelled_device": True, "deviceProperties": properties, **_VERSIONS}
