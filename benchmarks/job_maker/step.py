"""One rank's step as a program: points of the host in order, and the work that they launch.

A point is the start or the end of something on the host. Backward runs on a thread of its own while
the main one waits, so all points are on one line of time, each so long after the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAIN, BACKWARD = 0, 1
COMPUTE, COMMUNICATION, EVERY_STREAM = 7, 20, -1
SENDING, RECEIVING = 24, 28
BYTES_OF = {"float": 4, "Float": 4, "Half": 2, "BFloat16": 2, "Long": 8, "Int": 4, "Byte": 1}


@dataclass(eq=False)
class Collective:
    """What a kernel of communication does.

    Attributes:
        operation: as `record_param_comms` names it, such as `allreduce`.
        nelems: elements that a rank gives.
        dtype: as PyTorch names it there.
        group: the kind of group, `data`, `tensor` or `pipeline`.
        hop: of what is sent or received, to which side it goes in the pipeline.
    """

    operation: str
    nelems: int
    dtype: str = "Float"
    group: str = "data"
    hop: int = 0

    @property
    def nbytes(self) -> int:
        """Size of what a rank gives."""
        return self.nelems * BYTES_OF.get(self.dtype, 4)


@dataclass(eq=False)
class Work:
    """A kernel, copy or fill of the device.

    Attributes:
        kind: its category in the trace.
        after: collectives on other streams that must be over before it starts.
        grows: whether it takes longer with more samples or longer ones.
        partner: of a kernel that receives the one that sends, on another rank.
    """

    name: str
    kind: str
    stream: int
    duration_ns: int
    args: dict[str, Any] = field(default_factory=dict)
    after: list[Work] = field(default_factory=list)
    collective: Collective | None = None
    grows: bool = False
    partner: Work | None = None


@dataclass(eq=False)
class HostEvent:
    """An operator, range or runtime call.

    Attributes:
        work: what it launches.
        waits: the stream that the host waits for in it, `EVERY_STREAM`, or None.
        is_extra: whether only some ranks do it.
        communicates: the collective that it tells of in its args.
        stage: the stage of the pipeline that does it; None: all do.
        batch: its microbatch.
    """

    name: str
    kind: str
    args: dict[str, Any] = field(default_factory=dict)
    thread: int = MAIN
    work: list[Work] = field(default_factory=list)
    waits: int | None = None
    is_extra: bool = False
    communicates: Collective | None = None
    stage: int | None = None
    batch: int = 0

    @property
    def is_call(self) -> bool:
        """Whether it is a call of the CUDA runtime."""
        return self.kind.startswith("cuda_")


@dataclass(eq=False)
class Point:
    """The start or end of an event, so long after the point before it."""

    gap_ns: int
    event: HostEvent
    is_end: bool


@dataclass
class Step:
    """A step of one rank.

    Attributes:
        points: those of the host, in order; the first and the last are of `ProfilerStep`.
        lengths: sizes of dimensions that grow with the length of the samples.
        devices: `deviceProperties` of the trace; the first is that of each rank.
    """

    points: list[Point]
    lengths: frozenset[int]
    devices: list[dict[str, Any]]

    def events(self) -> list[HostEvent]:
        """The events in order of their starts."""
        return [point.event for point in self.points if not point.is_end]

    def work(self) -> list[Work]:
        """The work in order of its launches."""
        return [work for event in self.events() for work in event.work]

    def start_of(self, event: HostEvent) -> int:
        """The number of the point at which an event starts."""
        return next(n for n, p in enumerate(self.points) if p.event is event and not p.is_end)

    def end_of(self, event: HostEvent) -> int:
        """The number of the point at which an event ends."""
        return next(n for n, p in enumerate(self.points) if p.event is event and p.is_end)

    def parents(self) -> dict[HostEvent, HostEvent | None]:
        """The event around each one, on its own thread or that of which backward is a part."""
        result = dict[HostEvent, HostEvent | None]()
        inside = list[HostEvent]()
        for point in self.points:
            if point.is_end:
                inside.remove(point.event)
            else:
                result[point.event] = inside[-1] if inside else None
                inside.append(point.event)
        return result

    def in_loader(self) -> Iterator[bool]:
        """Whether the time before each point was spent in the loader."""
        depth = 0
        for point in self.points:
            is_loader = "DataLoader" in point.event.name
            yield depth > 0
            depth += (-1 if point.is_end else 1) * is_loader


def around(event: HostEvent, *inside: list[Point], gap_ns: int = 2_500) -> list[Point]:
    """Return the points of an event with others inside, `gap_ns` before its start and its end."""
    between = [point for points in inside for point in points]
    return [Point(gap_ns, event, False), *between, Point(gap_ns, event, True)]


def call(name: str, *work: Work, thread: int = MAIN, took_ns: int = 5_000) -> list[Point]:
    """Return the points of a runtime call."""
    event = HostEvent(name, "cuda_runtime", thread=thread, work=list(work))
    return [Point(1_500, event, False), Point(took_ns, event, True)]
