"""`Event`: a view on one row of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .columns import Track
from .inputs import Shape
from .kinds import EventKind
from .location import Location

if TYPE_CHECKING:
    from .trace import Trace


class Event:
    """One event; cheap to make, equal to any other view on the same row of the same trace."""

    __slots__ = ("row", "trace")

    def __init__(self, trace: Trace, row: int) -> None:
        self.trace = trace
        self.row = row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.row == other.row and self.trace is other.trace

    def __hash__(self) -> int:
        return hash((id(self.trace), self.row))

    def __repr__(self) -> str:
        start_us = (self.start_ns - self.trace.start_ns_first) / 1000
        return f"<{self.kind.name} {self.name!r} {start_us:.3f}+{self.duration_ns / 1000:.3f} us>"

    # -- what it is -------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.trace.names[int(self.trace.name_id[self.row])]

    @property
    def kind(self) -> EventKind:
        return EventKind(self.trace.kind[self.row])

    @property
    def start_ns(self) -> int:
        return int(self.trace.start_ns[self.row])

    @property
    def duration_ns(self) -> int:
        return int(self.trace.duration_ns[self.row])

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns

    @property
    def self_ns(self) -> int:
        """Duration less what its children on the same thread cover."""
        return int(self.trace.self_ns[self.row])

    @property
    def track(self) -> Track:
        """(process, thread) of a host event, (device, stream) of a device event."""
        return self.trace.tracks[int(self.trace.track_id[self.row])]

    @property
    def sequence_nr(self) -> int:
        """The autograd sequence number, -1 for none."""
        return int(self.trace.sequence_nr[self.row])

    @property
    def correlation(self) -> int:
        return int(self.trace.correlation[self.row])

    @property
    def nbytes(self) -> int:
        """Bytes of a copy, fill or allocation (negative: freed), else 0."""
        return int(self.trace.nbytes[self.row])

    @property
    def device(self) -> int:
        """Device index, -1 on the host."""
        return int(self.trace.device[self.row])

    @property
    def stream(self) -> int:
        return int(self.trace.stream[self.row])

    # -- inputs of an op --------------------------------------------------------------------------

    @property
    def input_shapes(self) -> Shape:
        """Dims of each input; () where shapes were not recorded."""
        return self.trace.inputs.shapes(self._inputs_id)

    @property
    def input_dtypes(self) -> Shape:
        """C++ type name of each input ("float", "c10::Half", "" for None)."""
        return self.trace.inputs.dtypes(self._inputs_id)

    @property
    def concrete_inputs(self) -> Shape:
        """Text of each input that is no tensor."""
        return self.trace.inputs.concrete(self._inputs_id)

    @property
    def input_strides(self) -> Shape:
        return self.trace.inputs.strides(self._inputs_id)

    @property
    def _inputs_id(self) -> int:
        return int(self.trace.inputs_id[self.row])

    # -- relatives --------------------------------------------------------------------------------

    @property
    def parent(self) -> Event | None:
        """The event above in the tree; for a Runtime call the event it ran in, for device work the
        call that launched it.
        """
        in_tree = self.row < self.trace.tree_count
        return self._at((self.trace.parent if in_tree else self.trace.caller)[self.row])

    @property
    def children(self) -> list[Event]:
        """Children in the tree, by start. Runtime calls and device work are not among them."""
        return [Event(self.trace, row) for row in self._child_rows()]

    def _child_rows(self) -> Iterator[int]:
        ends = self.trace.subtree_end
        row, end = self.row + 1, int(ends[self.row])
        while row < end:
            yield row
            row = int(ends[row])

    @property
    def last_child(self) -> Event | None:
        last = -1
        for row in self._child_rows():
            last = row
        return self._at(last)

    def ancestors(self) -> Iterator[Event]:
        """Parent, its parent and so on."""
        event = self.parent
        while event is not None:
            yield event
            event = event.parent

    def descendants(self) -> Iterator[Event]:
        """All events below in the tree, depth-first."""
        return self.trace.events(range(self.row + 1, int(self.trace.subtree_end[self.row])))

    @property
    def next_sibling(self) -> Event | None:
        row = int(self.trace.subtree_end[self.row])
        if row >= self.trace.tree_count or self.trace.previous_sibling[row] != self.row:
            return None
        return Event(self.trace, row)

    @property
    def previous_sibling(self) -> Event | None:
        return self._at(self.trace.previous_sibling[self.row])

    def siblings(self) -> tuple[list[Event], list[Event]]:
        """Siblings before and after, by start; roots of one thread are siblings."""
        before, after = [], []
        event = self.previous_sibling
        while event is not None:
            before.append(event)
            event = event.previous_sibling
        event = self.next_sibling
        while event is not None:
            after.append(event)
            event = event.next_sibling
        return before[::-1], after

    @property
    def root(self) -> Event:
        """The event without parent that this one is under."""
        roots = self.trace.root_rows
        return Event(self.trace, int(roots[roots.searchsorted(self.row, side="right") - 1]))

    @property
    def forward(self) -> Event | None:
        """For a backward op the forward op whose gradient it computes."""
        return self._at(self.trace.forward.get(self.row, -1))

    # -- device work and source -------------------------------------------------------------------

    @property
    def kernels(self) -> list[Event]:
        """Device work (kernels, copies, fills) launched by this event or what is below it."""
        return list(self.trace.events(self.trace.device_rows_under(self.row)))

    @property
    def runtime_calls(self) -> list[Event]:
        """CUDA or HIP calls made by this event or what is below it."""
        return list(self.trace.events(self.trace.runtime_rows_under(self.row)))

    @property
    def device_ns(self) -> int:
        """Time some device worked for this event, overlaps counted once."""
        return self.trace.time_of(self.trace.device_rows_under(self.row)).total_ns

    @property
    def location(self) -> Location | None:
        """The user's frame nearest above, None where stacks were not recorded."""
        return self.trace.location(self.row)

    def _at(self, row: int) -> Event | None:
        return Event(self.trace, int(row)) if row >= 0 else None
