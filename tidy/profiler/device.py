"""What a modelled device did during a recording, from the log that the runtime filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ..runtime.cuda import activity, clock
from ..runtime.cuda.activity import ActivityLog, DeviceMemory, DeviceWork, RuntimeCall
from ..trace.kinds import EventKind
from .threads import SystemThreads

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


class HostEvent(Protocol):
    """What is asked of an event on a host thread."""

    kind: EventKind
    name: str
    start_ns: int
    end_ns: int
    tid: int


class Shadow(NamedTuple):
    """A range of the host as it shows on a stream: the work launched in it, and in none inside it.

    A nanosecond longer than that on both sides, as Kineto has it (`gpu_user_annotation`).
    """

    name: str
    start_ns: int
    end_ns: int
    device: int
    stream: int
    external_id: int


@dataclass(slots=True)
class DevicePart:
    """The part of a recording that is the devices'; times are Unix times.

    `ident` of a call or of memory is the system's number of the thread here. `external_ids` has
    by correlation the External id of the operator that made the call.
    """

    calls: list[RuntimeCall] = field(default_factory=list)
    work: list[DeviceWork] = field(default_factory=list)
    memory: list[DeviceMemory] = field(default_factory=list)
    external_ids: dict[int, int] = field(default_factory=dict)
    shadows: list[Shadow] = field(default_factory=list)

    @property
    def threads(self) -> Iterable[int]:
        """Those that made calls or memory, some more than once."""
        return [each.ident for some in (self.calls, self.memory) for each in some]


def finish_device(
    log: ActivityLog, unix_ns: int, threads: SystemThreads, with_memory: bool
) -> DevicePart:
    """The part without what `link_calls` adds.

    Args:
        unix_ns: Unix time less the time of `time.perf_counter_ns`.
        threads: the system's numbers of them.
        with_memory: whether changes of memory are wanted.
    """
    part = DevicePart()
    for call in sorted(log.calls, key=lambda call: call.start_ns):
        start, end = call.start_ns + unix_ns, call.end_ns + unix_ns
        ident = threads.at(call.ident, start)
        part.calls.append(call._replace(start_ns=start, end_ns=end, ident=ident))
    for work in sorted(log.work, key=lambda work: (_PLACE[work.kind], work.start_ns)):
        start, end = work.start_ns + unix_ns, work.end_ns + unix_ns
        part.work.append(work._replace(start_ns=start, end_ns=end))
    for change in sorted(log.memory, key=lambda change: change.time_ns) if with_memory else ():
        time_ns = change.time_ns + unix_ns
        ident = threads.at(change.ident, time_ns)
        part.memory.append(change._replace(time_ns=time_ns, ident=ident))
    return part


def link_calls(part: DevicePart, events: Sequence[HostEvent]) -> None:
    """Give each call, and the work it launched, the External id of the innermost operator.

    The innermost range gets a shadow on each stream. A rule of Kineto's: a range around another
    one has none of the latter's work.

    Args:
        events: by start; the External id of one is its place, counted from 1.
    """
    if not part.calls:
        return
    part.external_ids = _innermost(part.calls, events, EventKind.TorchOp)
    range_of = _innermost(part.calls, events, EventKind.Annotation)
    spans: dict[tuple[int, int, int], tuple[int, int]] = {}
    for work in part.work:
        number = range_of.get(work.correlation)
        if number is not None and work.kind != "cuda_sync":
            place = number, work.device, work.stream
            start, end = spans.get(place, (work.start_ns, work.end_ns))
            spans[place] = min(start, work.start_ns), max(end, work.end_ns)
    for (number, device, stream), (start, end) in spans.items():
        name = events[number - 1].name
        part.shadows.append(Shadow(name, start - 1, end + 1, device, stream, number))
    part.shadows.sort(key=lambda shadow: shadow.start_ns)


def _innermost(
    calls: Sequence[RuntimeCall], events: Sequence[HostEvent], kind: EventKind
) -> dict[int, int]:
    """By correlation of a call: the number, from 1, of the event of a kind that it was made in."""
    found: dict[int, int] = {}
    open_at: dict[int, list[tuple[int, int, int]]] = {call.ident: [] for call in calls}
    for number, event in enumerate(events, 1):
        if event.kind == kind and event.tid in open_at:
            open_at[event.tid].append((event.start_ns, event.end_ns, number))
    for coming in open_at.values():
        coming.reverse()
    running: dict[int, list[tuple[int, int]]] = {tid: [] for tid in open_at}
    for call in calls:
        coming, stack = open_at[call.ident], running[call.ident]
        while coming and coming[-1][0] <= call.start_ns:
            start, end, number = coming.pop()
            _leave(stack, start)
            stack.append((end, number))
        _leave(stack, call.start_ns)
        if stack:
            found[call.correlation] = stack[-1][1]
    return found


def _leave(stack: list[tuple[int, int]], time_ns: int) -> None:
    while stack and stack[-1][0] < time_ns:
        stack.pop()


def wait_for_work() -> None:
    """The host waits, in modelled time, until all that was seen is done.

    As PyTorch's profiler does before it stops, so that the recording holds what it has launched.
    """
    latest = max((work.end_ns for log in activity.logs for work in log.work), default=0)
    if latest:
        clock.wait_until(latest)


def header(properties: list[dict[str, Any]]) -> dict[str, Any]:
    """What the header of a trace says of the devices: plainly that they are modelled.

    `tidy_modelled_device` is no key of Kineto's. A device's rows were computed, not measured.
    """
    if not properties:
        return {"deviceProperties": []}
    return {"tidy_modelled_device": True, "deviceProperties": properties, **_VERSIONS}
