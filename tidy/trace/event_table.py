"""`EventTable`: numpy columns, one row an event, and the questions that numpy answers.

Rows [0, tree_count) are the host tree, depth-first (see tree.py); all other rows follow by start.
Columns are public: a rule that thinks in tables reads them directly. Nothing can write to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .info import TraceInfo
from .intervals import Intervals, repeated
from .kinds import DEVICE_WORK, EventKind
from .links import grouped
from .memory import MemoryTable
from .names import NameTable
from .raw_columns import Column, Rows, Strings, Track

_BLOCK = 1 << 16  # rows worked on together, so that what is made on the way needs little memory


class EventTable:
    """The columns of a trace.

    Attributes:
        name_id, track_id: indexes into `names` and `tracks`.
        kind: an `EventKind`.
        start_ns, duration_ns: times in nanoseconds.
        parent: the row of the tree above a row of the tree, -1 for roots and for all other rows.
        subtree_end: the row after the last descendant of a row.
        caller: of a Runtime row and of an allocation the tree row it ran in; of a device row the
            Runtime row that launched it, or the tree row where no call was recorded; else -1.
        forward: backward row -> forward row.
        device, stream: of device rows and of allocations, else -1.
        nbytes: of copies, fills and allocations (negative where memory is freed), else 0.
        correlation: what Kineto links a call and its device work by, 0 for none.
        sequence_nr: the autograd sequence number, -1 for none.
        forward_thread: PyTorch's small id of the thread of a backward op's forward, 0 for none.
        inputs_id, stack_id: indexes into tables of `strings`, -1 for none.
        memory: what allocations and frees say of addresses and totals, an entry each.
    """

    name_id: NDArray[np.int32]
    kind: NDArray[np.uint8]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    track_id: NDArray[np.int32]
    parent: NDArray[np.int32]
    subtree_end: NDArray[np.int32]
    caller: NDArray[np.int32]
    correlation: NDArray[np.int64]
    sequence_nr: NDArray[np.int64]
    forward_thread: NDArray[np.int32]
    inputs_id: NDArray[np.int32]
    stack_id: NDArray[np.int32]
    device: NDArray[np.int32]
    stream: NDArray[np.int64]
    nbytes: NDArray[np.int64]

    def __init__(
        self,
        table: dict[str, Column],
        strings: Strings,
        tracks: list[Track],
        tree_count: int,
        forward: dict[int, int],
        info: TraceInfo,
        memory: MemoryTable,
    ) -> None:
        for name, column in table.items():
            column.setflags(write=False)
            setattr(self, name, column)
        self.strings = strings
        self.tracks = tracks
        self.tree_count = tree_count
        self.forward = forward
        self.info = info
        self.memory = memory
        self.names: list[str] = list(strings.names)
        self._name_table = NameTable(strings.names)
        self._rows_of_kinds = dict[tuple[EventKind, ...], Rows]()

    def __len__(self) -> int:
        return len(self.name_id)

    @cached_property
    def end_ns(self) -> NDArray[np.int64]:
        """When each event ended."""
        return self.start_ns + self.duration_ns

    def rows_named(self, *patterns: str) -> Rows:
        """Return rows whose name fits one of `patterns`, where `*` stands for any text."""
        return self.rows_of_names(self.names_fitting(*patterns))

    def names_fitting(self, *patterns: str) -> list[int]:
        """Return the indexes into `names` of those that fit one of `patterns`, see `rows_named`."""
        return self._name_table.fitting(patterns)

    def rows_of_names(self, name_ids: Sequence[int]) -> Rows:
        """Return rows that have one of these names, by index into `names`; ascending."""
        order, bounds = self._rows_by_name
        rows = [order[bounds[each] : bounds[each + 1]] for each in name_ids]
        result = np.concatenate(rows) if rows else order[:0]
        if len(rows) > 1:
            result.sort(kind="stable")  # which merges what is sorted already
        return result.astype(np.int64)

    @cached_property
    def _rows_by_name(self) -> tuple[NDArray[np.int32], list[int]]:
        """Rows by name, ascending for each, and where the rows of each name begin."""
        count = len(self.names)
        # A sort of 16 bits is linear, and few traces have more names.
        keys = self.name_id.astype(np.uint16) if count <= 1 << 16 else self.name_id
        order = np.argsort(keys, kind="stable").astype(np.int32)
        bounds = np.append(0, np.cumsum(np.bincount(self.name_id, minlength=count)))
        return order, bounds.tolist()

    def rows_of_kind(self, *kinds: EventKind) -> Rows:
        """Return rows of events of one of these kinds, ascending; not to be written to."""
        if kinds not in self._rows_of_kinds:
            wanted = np.zeros(1 << 8, bool)
            wanted[list(kinds)] = True
            rows = np.flatnonzero(wanted[self.kind])
            rows.flags.writeable = False
            self._rows_of_kinds[kinds] = rows
        return self._rows_of_kinds[kinds]

    def rows_within(self, start_ns: int, end_ns: int, track_id: int | None = None) -> Rows:
        """Return rows of events that start in [start_ns, end_ns), by start, on one track if
        given.
        """
        order, starts = self._by_start if track_id is None else self._by_start_on_track[track_id]
        first, last = np.searchsorted(starts, (start_ns, end_ns))
        return order[first:last]

    @cached_property
    def _by_start(self) -> tuple[Rows, NDArray[np.int64]]:
        order = np.argsort(self.start_ns, kind="stable")
        return order, self.start_ns[order]

    @cached_property
    def _by_start_on_track(self) -> list[tuple[Rows, NDArray[np.int64]]]:
        order, _ = self._by_start
        tracks = self.track_id[order]
        grouped = order[np.argsort(tracks, kind="stable")]
        bounds = np.cumsum(np.bincount(self.track_id, minlength=len(self.tracks)))
        return [(rows, self.start_ns[rows]) for rows in np.split(grouped, bounds[:-1])]

    # -- the tree ---------------------------------------------------------------------------------

    @cached_property
    def root_rows(self) -> Rows:
        """Rows of the tree that have no parent."""
        return np.flatnonzero(self.parent[: self.tree_count] < 0)

    @cached_property
    def previous_sibling(self) -> NDArray[np.int32]:
        """The sibling before each row of the tree, -1 for none; roots of one thread are siblings.

        Shape (len,); rows outside the tree have -1.
        """
        rows = np.arange(self.tree_count)
        after = self.subtree_end[: self.tree_count]
        rows, after = rows[after < self.tree_count], after[after < self.tree_count]
        same = self.parent[rows] == self.parent[after]
        same &= (self.parent[rows] >= 0) | (self.track_id[rows] == self.track_id[after])
        result = np.full(len(self), -1, np.int32)
        result[after[same]] = rows[same]
        return result

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """The number of ancestors of each row of the tree; shape (tree_count,)."""
        closing = np.bincount(self.subtree_end[: self.tree_count], minlength=self.tree_count + 1)
        opened = np.arange(self.tree_count) - np.cumsum(closing)[: self.tree_count]
        return opened.astype(np.int32)

    @cached_property
    def self_ns(self) -> NDArray[np.int64]:
        """Each duration without the part that children on the same thread cover; shape (len,)."""
        self_ns = self.duration_ns.copy()
        for first in range(0, self.tree_count, _BLOCK):
            above = self.parent[first : min(first + _BLOCK, self.tree_count)]
            rows = first + np.flatnonzero(above >= 0)
            above = above[above >= 0]
            rows, above = (a[self.track_id[rows] == self.track_id[above]] for a in (rows, above))
            covered = np.minimum(self.end_ns[rows], self.end_ns[above]) - self.start_ns[rows]
            np.subtract.at(self_ns, above, np.maximum(covered, 0))
        return np.maximum(self_ns, 0, out=self_ns)

    # -- devices ----------------------------------------------------------------------------------

    @cached_property
    def devices_used(self) -> tuple[int, ...]:
        """The indexes of the devices that did work in this trace."""
        return tuple(self._rows_by_device)

    @cached_property
    def device_rows(self) -> Rows:
        """Rows of kernels, copies and fills, by start."""
        return self.rows_of_kind(*DEVICE_WORK)

    @cached_property
    def _rows_by_device(self) -> dict[int, Rows]:
        rows = self.device_rows
        return {device: rows[own] for device, own in grouped(self.device[rows]).items()}

    def rows_of_device(self, device: int) -> Rows:
        """Return rows of the kernels, copies and fills of one device, by start."""
        return self._rows_by_device.get(device, self.device_rows[:0])

    def device_busy(self, device: int) -> Intervals:
        """Return the time in which any stream of a device had work."""
        return self.time_of(self.rows_of_device(device))

    def devices_busy_ns(self, time: Intervals) -> int:
        """Return how long devices had work in `time`, all added up."""
        busy = [self.device_busy(device) for device in self.devices_used]
        starts_ns = np.concatenate([each.starts_ns for each in busy])
        ends_ns = np.concatenate([each.ends_ns for each in busy])
        return int(time.covered_ns(starts_ns, ends_ns).sum())

    def device_idle(self, device: int) -> Intervals:
        """Return the time without work on any stream of a device, between its first work and its
        last.
        """
        busy = self.device_busy(device)
        return Intervals(busy.ends_ns[:-1], busy.starts_ns[1:])

    def launched_ns(self, rows: Rows) -> Rows:
        """Find when each row was launched, for device rows; its own start where no launch
        is known.
        """
        calls = self.caller[rows]
        is_known = (self.device[rows] >= 0) & (calls >= 0)
        times: Rows = self.start_ns[np.where(is_known, calls, rows)]
        return times

    def launching_ops(self, rows: Rows) -> Rows:
        """Return for each device row the innermost tree row that launched it, -1 if that is not
        known.
        """
        launch = self.caller[rows]
        ops = np.where(launch >= self.tree_count, self.caller[launch], launch)
        return ops.astype(np.int64)

    @cached_property
    def _device_by_op(self) -> tuple[Rows, Rows]:
        ops = self.launching_ops(self.device_rows)
        order = np.argsort(ops, kind="stable")
        return self.device_rows[order], ops[order]

    def device_rows_under(self, row: int) -> Rows:
        """Return rows of kernels, copies and fills launched from a tree row or its descendants."""
        return self._under(row, *self._device_by_op)

    def device_rows_under_any(self, rows: Rows) -> Rows:
        """Return the same of any of these tree rows, ascending and each once; other rows
        have none.
        """
        return self._under_any(rows, *self._device_by_op)

    def launch_work(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell for each tree row whether it or a descendant launched a kernel, a copy or a fill."""
        _, ops = self._device_by_op
        found = np.searchsorted(ops, self.subtree_end[rows]) > np.searchsorted(ops, rows)
        return np.asarray(found, bool)

    @cached_property
    def _calls_by_op(self) -> tuple[Rows, Rows]:
        calls = self.rows_of_kind(EventKind.Runtime)
        ops = self.caller[calls].astype(np.int64)
        order = np.argsort(ops, kind="stable")
        return calls[order], ops[order]

    def runtime_rows_under(self, row: int) -> Rows:
        """Return rows of CUDA or HIP calls made in a tree row or its descendants."""
        return self._under(row, *self._calls_by_op)

    def runtime_rows_under_any(self, rows: Rows) -> Rows:
        """Return the same of any of these tree rows, ascending and each once; other rows
        have none.
        """
        return self._under_any(rows, *self._calls_by_op)

    def _under(self, row: int, rows: Rows, ops: Rows) -> Rows:
        first, last = np.searchsorted(ops, (row, int(self.subtree_end[row])))
        return rows[first:last]

    def _under_any(self, above: Rows, rows: Rows, ops: Rows) -> Rows:
        above = above[above < self.tree_count]
        below = Intervals(above, self.subtree_end[above])
        first = np.searchsorted(ops, below.starts_ns)
        _, at = repeated(np.searchsorted(ops, below.ends_ns) - first, first)
        return np.sort(rows[at], kind="stable")

    # -- time -------------------------------------------------------------------------------------

    @cached_property
    def start_ns_first(self) -> int:
        """When the first event of the run started; 0 where there is none."""
        return int(self.start_ns[self._timed].min()) if self._timed.any() else 0

    @cached_property
    def span_ns(self) -> int:
        """The time from the first start to the last end; the profiler's overhead does not count."""
        return int(self.end_ns[self._timed].max()) - self.start_ns_first if self._timed.any() else 0

    @cached_property
    def _timed(self) -> NDArray[np.bool_]:
        # Python frames that never returned end with the profiler, and overhead is not the run's.
        idle = (EventKind.Overhead, EventKind.Other, EventKind.DeviceAnnotation)
        return ~np.isin(self.kind, idle)

    def time_of(self, rows: Iterable[int]) -> Intervals:
        """Return the time in which any of the given rows ran."""
        index = rows if isinstance(rows, np.ndarray) else np.fromiter(rows, np.int64)
        return Intervals(self.start_ns[index], self.end_ns[index])
