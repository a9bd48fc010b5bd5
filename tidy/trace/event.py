"""`Event`: a view on one row of a trace; `Events`: many of them as rows, viewed when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from .inputs import Shape
from .kinds import EventKind
from .location import Location
from .raw_columns import Track
from .units import count_text

if TYPE_CHECKING:
    from .trace import Trace

_KINDS = tuple(EventKind)  # to look one up takes less time than to make it of its number
_AT_ONCE = 1 << 12  # rows that are numbers of Python's at a time
_NAMED, _LONGEST = 3, 40  # names that `repr` gives, and characters of each


class Event:
    """A view on one event; views on the same row of the same trace are equal.

    Times are in nanoseconds. A value that the trace does not hold is -1 or (), as said below.
    """

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
        """The name as the file has it: `aten::add`, `train.py(3): main`, the name of a kernel."""
        return self.trace.names[int(self.trace.name_id[self.row])]

    @property
    def kind(self) -> EventKind:
        """What the event is: an op, a Python call, a kernel, ..."""
        return _KINDS[int(self.trace.kind[self.row])]

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
        """The duration without the part that its children on the same thread cover."""
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
        """The number that a call and the device work it launched share, 0 for none."""
        return int(self.trace.correlation[self.row])

    @property
    def nbytes(self) -> int:
        """The bytes of a copy, fill or allocation (negative where memory is freed), else 0."""
        return int(self.trace.nbytes[self.row])

    @property
    def device(self) -> int:
        """The index of the device, -1 on the host."""
        return int(self.trace.device[self.row])

    @property
    def stream(self) -> int:
        """The stream of device work, -1 on the host."""
        return int(self.trace.stream[self.row])

    # -- inputs of an op --------------------------------------------------------------------------

    @property
    def input_shapes(self) -> Shape:
        """The dims of each input, as `Inputs.shapes` gives them; () where none were recorded."""
        return self.trace.inputs.shapes(self._inputs_id)

    @property
    def input_dtypes(self) -> Shape:
        """The C++ type name of each input: "float", "c10::Half", and "" for None."""
        return self.trace.inputs.dtypes(self._inputs_id)

    @property
    def concrete_inputs(self) -> Shape:
        """The text of each input that is not a tensor, "" for tensors."""
        return self.trace.inputs.concrete(self._inputs_id)

    @property
    def input_strides(self) -> Shape:
        """The strides of each input; () where none were recorded."""
        return self.trace.inputs.strides(self._inputs_id)

    @property
    def _inputs_id(self) -> int:
        return int(self.trace.inputs_id[self.row])

    # -- relatives --------------------------------------------------------------------------------

    @property
    def parent(self) -> Event | None:
        """The event above in the tree.

        For a Runtime call that is the event it ran in, for device work the call that launched it.
        """
        in_tree = self.row < self.trace.tree_count
        return self._at((self.trace.parent if in_tree else self.trace.caller)[self.row])

    @property
    def children(self) -> list[Event]:
        """The children in the tree, by start; calls and device work are not among them."""
        return [Event(self.trace, row) for row in self._child_rows()]

    def _child_rows(self) -> Iterator[int]:
        ends = self.trace.subtree_end
        row, end = self.row + 1, int(ends[self.row])
        while row < end:
            yield row
            row = int(ends[row])

    @property
    def last_child(self) -> Event | None:
        """The child that started last."""
        last = -1
        for row in self._child_rows():
            last = row
        return self._at(last)

    def ancestors(self) -> Events:
        """Return the parent, its parent and so on."""
        trace, row, rows = self.trace, self.row, list[int]()
        parent, caller, tree_count = trace.parent, trace.caller, trace.tree_count
        while (row := int((parent if row < tree_count else caller)[row])) >= 0:
            rows.append(row)
        return Events(trace, np.array(rows, np.int32))

    def descendants(self) -> Events:
        """Return all events below in the tree, depth-first."""
        end = int(self.trace.subtree_end[self.row])
        return Events(self.trace, np.arange(self.row + 1, end, dtype=np.int32))

    @property
    def next_sibling(self) -> Event | None:
        """The sibling that starts next; roots of one thread are siblings."""
        row = int(self.trace.subtree_end[self.row])
        if row >= self.trace.tree_count or self.trace.previous_sibling[row] != self.row:
            return None
        return Event(self.trace, row)

    @property
    def previous_sibling(self) -> Event | None:
        """The sibling that started before; roots of one thread are siblings."""
        return self._at(self.trace.previous_sibling[self.row])

    def siblings(self) -> tuple[list[Event], list[Event]]:
        """Return the siblings before this event and those after it, both by start."""
        before, after = [self], [self]
        while (event := before[-1].previous_sibling) is not None:
            before.append(event)
        while (event := after[-1].next_sibling) is not None:
            after.append(event)
        return before[:0:-1], after[1:]

    @property
    def root(self) -> Event:
        """The ancestor without a parent; of an event without a parent itself."""
        roots = self.trace.root_rows
        return Event(self.trace, int(roots[roots.searchsorted(self.row, side="right") - 1]))

    @property
    def forward(self) -> Event | None:
        """The forward op whose gradient a backward op computes; None for other events."""
        return self._at(self.trace.forward.get(self.row, -1))

    # -- device work and source -------------------------------------------------------------------

    @property
    def kernels(self) -> list[Event]:
        """The kernels, copies and fills that were launched by this event or below it."""
        return list(self.trace.events(self.trace.device_rows_under(self.row)))

    @property
    def runtime_calls(self) -> list[Event]:
        """The CUDA or HIP calls that were made by this event or below it."""
        return list(self.trace.events(self.trace.runtime_rows_under(self.row)))

    @property
    def device_ns(self) -> int:
        """The time in which a device worked for this event; overlaps count once."""
        return self.trace.time_of(self.trace.device_rows_under(self.row)).total_ns

    @property
    def location(self) -> Location | None:
        """The user's frame nearest above; None where there is none or no stacks were recorded."""
        return self.trace.location(self.row)

    def _at(self, row: int) -> Event | None:
        return Event(self.trace, int(row)) if row >= 0 else None


class Events(Sequence[Event]):
    """Events in a given order; 4 or 8 bytes each, where a list of views takes 80.

    Attributes:
        trace: whose events they are.
        rows: their rows in its table, shape (n,).
    """

    __slots__ = ("rows", "trace")

    def __init__(self, trace: Trace, rows: NDArray[np.integer]) -> None:
        self.trace, self.rows = trace, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Event]:
        if len(self.rows) <= _AT_ONCE:
            return map(Event, repeat(self.trace), self.rows.tolist())
        starts = range(0, len(self.rows), _AT_ONCE)
        return chain.from_iterable(self[at : at + _AT_ONCE] for at in starts)

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> Events: ...
    def __getitem__(self, at: int | slice) -> Event | Events:
        rows = self.rows[at]
        return Events(self.trace, rows) if isinstance(at, slice) else Event(self.trace, int(rows))

    def __contains__(self, event: object) -> bool:
        if not isinstance(event, Event) or event.trace is not self.trace:
            return False
        return bool((self.rows == event.row).any())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Events):
            return NotImplemented
        return self.trace is other.trace and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash((id(self.trace), rows_of(self).tobytes()))

    def __repr__(self) -> str:
        """`<12 events: 8 aten::mm, 3 aten::add_, 1 aten::mul>`, with the names that most have."""
        if not len(self):
            return "<no events>"
        counts = np.bincount(self.trace.name_id[self.rows])
        names = np.argsort(-counts, kind="stable")[: min(_NAMED, np.count_nonzero(counts))]
        said = [f"{counts[each]:,} {_shortened(self.trace.names[each])}" for each in names]
        others = len(self) - int(counts[names].sum())
        if others:
            said.append(count_text(others, "other"))
        return f"<{count_text(len(self), 'event')}: {', '.join(said)}>"


def _shortened(name: str) -> str:
    """The beginning of a name, on one line."""
    if len(name) <= _LONGEST and name.isprintable():
        return name
    return repr(name[:_LONGEST])[1:-1] + "..."


def rows_of(events: Iterable[Event]) -> NDArray[np.int64]:
    """Return the rows of events of one trace, shape (n,)."""
    if isinstance(events, Events):
        return events.rows.astype(np.int64, copy=False)
    return np.array([event.row for event in events], np.int64)
