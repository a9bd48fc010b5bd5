"""Where in the user's source time goes: for all rows at once what `Trace.location` says of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Location, Trace
from ..trace.kinds import DEVICE_WORK
from ..trace.location import is_user_file, parse_frame
from .ranks import collectives_on_host

Rows = NDArray[np.int32]
_FUNCTIONS = (EventKind.PyCall, EventKind.PyCCall, EventKind.TorchOp)
_MOST = 0.6


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the source, or where none is known an op or a call, and its time."""

    location: Location | None
    name: str
    time_ns: int


class Places:
    """The places of a trace's tree rows."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.locations: list[Location] = []
        place = self._own()
        self.of_row = place
        if not self.locations:
            return
        forward, above = self._spread_on_threads(place)
        # Where a thread has no frame of the user's it is that of the forward, or of the thread that
        # called the backward.
        for link in (forward, above):
            missing = (place < 0) & (link >= 0)
            place[missing] = place[link[missing]]
        # What a backend records of a collective, on a thread of its own, has that of the last call.
        asked = trace.rows_named("c10d::*")
        asked = asked[np.argsort(trace.start_ns[asked], kind="stable")]
        rows = collectives_on_host(trace)
        before = np.searchsorted(trace.start_ns[asked], trace.start_ns[rows])
        rows, before = rows[before > 0], before[before > 0]
        place[rows] = place[asked[before - 1]]

    def _own(self) -> Rows:
        """For each tree row the number of the location that it itself gives, or -1.

        Calls that no operator makes, such as the launch of a graph, may have one, too.
        """
        trace, count = self._trace, self._trace.tree_count
        numbers: dict[Location, int] = {}

        def number(location: Location | None) -> int:
            if location is None or not is_user_file(location.file):
                return -1
            return numbers.setdefault(location, len(numbers))

        frames = trace.kind[:count] == EventKind.PyCall
        used = np.flatnonzero(
            np.bincount(trace.name_id[:count][frames], minlength=len(trace.names))
        )
        by_name = np.full(len(trace.names) + 1, -1, np.int32)
        by_name[used] = [number(parse_frame(trace.names[name])) for name in used.tolist()]
        own = np.full(len(trace), -1, np.int32)
        own[:count][frames] = by_name[trace.name_id[:count][frames]]
        with_stack = np.flatnonzero(trace.stack_id >= 0)
        if len(with_stack):
            used, which = np.unique(trace.stack_id[with_stack], return_inverse=True)
            found = [number(trace.places_of_stacks[stack]) for stack in used.tolist()]
            own[with_stack] = np.array(found, np.int32)[which]
        self.locations = list(numbers)
        self._of_calls = own[count:]
        self._calls_have_places = bool((self._of_calls >= 0).any())
        return own[:count]

    def _spread_on_threads(self, own: Rows) -> tuple[Rows, Rows]:
        """Give each row the nearest location above it on its thread.

        Returns:
            The nearest link to a forward, and what stands above on another thread, of each row.
        """
        trace, count = self._trace, self._trace.tree_count
        forward = np.full(count, -1, np.int32)
        if trace.forward:
            forward[list(trace.forward)] = list(trace.forward.values())
        parent = trace.parent[:count]
        # Where there is no parent the last row stands for it, and the test of it is overruled.
        same = trace.track_id[:count] == trace.track_id[parent]
        same &= parent >= 0
        above = np.where(same, np.int32(-1), parent)
        columns = [own, *(each for each in (forward, above) if (each >= 0).any())]
        within = _enclosing(trace)
        # Numbers of 16 bits are sorted in one pass over them.
        depth = trace.depth[:count]
        small = depth.astype(np.int16) if count and depth.max() < 1 << 15 else depth
        order = np.argsort(small, kind="stable")
        bounds = np.cumsum(np.bincount(trace.depth[:count]))
        for level in np.split(order, bounds[:-1])[1:]:
            rows = level[same[level]]
            up = within[rows]
            for column in columns:
                column[rows] = np.where(column[rows] >= 0, column[rows], column[up])
        return forward, above

    def costliest(self, rows: Rows, spent_ns: NDArray[np.int64], most: int) -> tuple[Place, ...]:
        """Return the places with the most time, given rows of any kind (-1 for none) and their
        time.
        """
        sums = self._sums(rows, spent_ns)
        times = sums[sums > 0]
        least = np.partition(times, -most)[-most] if len(times) > most else 0
        found = list(self._places(sums, max(least, 1)))
        found.sort(key=lambda place: (-place.time_ns, str(place.location or ""), place.name))
        return tuple(found[:most])

    def sums(self, rows: Rows, spent_ns: NDArray[np.int64]) -> Iterator[Place]:
        """Return every place with its time; arguments as for `costliest`."""
        return self._places(self._sums(rows, spent_ns), 1)

    def _places(self, sums: NDArray[np.float64], least_ns: float) -> Iterator[Place]:
        count, names = len(self.locations), self._trace.names
        for number in np.flatnonzero(sums >= least_ns).tolist():
            time_ns = int(sums[number])
            if number < count:
                location = self.locations[number]
                yield Place(location, location.function or "", time_ns)
            else:
                yield Place(None, names[number - count - 1] if number > count else "", time_ns)

    def _sums(self, rows: Rows, spent_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """The time of each location, of what has no name, and of each name without a location."""
        trace = self._trace
        tree = self.tree_rows(rows)
        # An index of -1 takes the last row's value, which the condition beside it overrules.
        place = np.where(tree >= 0, self.of_row[tree], -1) if len(self.of_row) else tree
        if self._calls_have_places:
            of_call = self._place_of_calls(rows)
            place = np.where(of_call >= 0, of_call, place)
        named = np.where(tree >= 0, tree, rows)
        names = np.where(rows >= 0, trace.name_id[named], -1) if len(trace.name_id) else rows
        which = np.where(place >= 0, place, len(self.locations) + 1 + names)
        size = len(self.locations) + 1 + len(trace.names)
        return np.bincount(which, spent_ns, size).astype(np.float64, copy=False)

    def _place_of_calls(self, rows: Rows) -> Rows:
        """The place that the call itself has which is a row or launched it, or -1."""
        count, found = self._trace.tree_count, np.full(len(rows), -1, np.int32)
        outside = np.flatnonzero(rows >= count)
        calls = rows[outside]
        is_work = np.isin(self._trace.kind[calls], DEVICE_WORK)
        calls = np.where(is_work, self._trace.caller[calls], calls)
        known = calls >= count
        found[outside[known]] = self._of_calls[calls[known] - count]
        return found

    def mostly_in(self, rows: Rows, spent_ns: NDArray[np.int64]) -> str:
        """Return the name of the innermost Python function or operator that most of the time is in.

        "" where no function holds most of it.
        """
        trace, count = self._trace, self._trace.tree_count
        tree = self.tree_rows(rows)
        known = tree >= 0
        upto = np.zeros(count + 1)
        np.cumsum(np.bincount(tree[known], spent_ns[known], count), out=upto[1:])
        chosen, ends, names = self._functions
        by_name = np.bincount(names, upto[ends] - upto[chosen], len(trace.names))
        all_ns = spent_ns.sum()
        most = np.flatnonzero(by_name >= _MOST * all_ns)
        most = most[by_name[most] <= all_ns]  # a function that calls itself counts twice
        if not len(most):
            return ""
        # Of functions that hold the same time it is the innermost.
        depth, is_most = np.zeros(len(trace.names), np.int64), np.zeros(len(trace.names), bool)
        is_most[most] = True
        chosen = chosen[is_most[names]]
        np.maximum.at(depth, trace.name_id[chosen], trace.depth[chosen])
        innermost: int = most[np.lexsort((-depth[most], by_name[most]))[0]]
        return trace.names[innermost]

    @cached_property
    def _functions(self) -> tuple[NDArray[np.int64], Rows, Rows]:
        """The rows of functions, operators and collectives; their subtrees' ends; their names."""
        trace = self._trace
        is_function = np.isin(np.arange(256), _FUNCTIONS)[trace.kind[: trace.tree_count]]
        is_function[collectives_on_host(trace)] = True
        rows = np.flatnonzero(is_function)
        return rows, trace.subtree_end[rows], trace.name_id[rows]

    def tree_rows(self, rows: Rows) -> Rows:
        """Return the tree row in which device work and calls were made; tree rows stay; -1:
        unknown.
        """
        rows = rows.copy()
        for _ in range(2):
            outside = np.flatnonzero(rows >= self._trace.tree_count)
            rows[outside] = self._trace.caller[rows[outside]]
        rows[rows >= self._trace.tree_count] = -1
        return rows


def _enclosing(trace: Trace) -> Rows:
    """The parent of each tree row; of a range that outlives its parent, the ancestor it is in.

    The next step begins inside of what ended the one before: a hook of the optimizer's.
    """
    count = trace.tree_count
    within = trace.parent[:count].copy()
    ranges = trace.rows_of_kind(EventKind.Annotation)
    ranges = ranges[ranges < count]
    while len(ranges):
        up = within[ranges]
        # Only for those that have one: -1 would be the last row.
        outlived = (up >= 0) & (trace.end_ns[ranges] > trace.end_ns[up])
        outlived &= trace.parent[up] >= 0
        ranges = ranges[outlived]
        within[ranges] = trace.parent[within[ranges]]
    return within
