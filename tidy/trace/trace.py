"""`Trace`: a table of numpy columns, one row an event, and questions one asks of it.

Rows [0, tree_count) are the host tree, depth-first (see tree.py); all other rows follow by start.
Columns are public: a rule that thinks in tables reads them directly.

    name_id, kind, start_ns, duration_ns, end_ns, track_id    every row
    parent, subtree_end                                       the tree
    caller      Runtime row -> tree row it ran in; device row -> the Runtime row that launched it
    forward     dict, backward row -> forward row
    device, stream, nbytes, correlation, sequence_nr, inputs_id
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .columns import Column, Strings, Track
from .event import Event
from .info import Capability, Device, TraceInfo, read_devices
from .inputs import Inputs
from .intervals import Intervals
from .kinds import DEVICE_WORK, EventKind
from .location import Location, is_user_file, parse_call_stack, parse_frame
from .names import matching
from .steps import Step, find_steps

if TYPE_CHECKING:
    from ..averages import EventList, FunctionEvents

Rows = NDArray[np.int64]
_PY_CALL = int(EventKind.PyCall)  # members of an enum are slow to look up


class Trace:
    """A recorded run. Built by `build_trace`; immutable afterwards."""

    def __init__(
        self,
        table: dict[str, Column],
        strings: Strings,
        tracks: list[Track],
        tree_count: int,
        forward: dict[int, int],
        info: TraceInfo,
    ) -> None:
        self.name_id: NDArray[np.int32] = table["name_id"]
        self.kind: NDArray[np.uint8] = table["kind"]
        self.start_ns: NDArray[np.int64] = table["start_ns"]
        self.duration_ns: NDArray[np.int64] = table["duration_ns"]
        self.track_id: NDArray[np.int32] = table["track_id"]
        self.parent: NDArray[np.int32] = table["parent"]
        self.subtree_end: NDArray[np.int32] = table["subtree_end"]
        self.caller: NDArray[np.int32] = table["caller"]
        self.correlation: NDArray[np.int64] = table["correlation"]
        self.sequence_nr: NDArray[np.int64] = table["sequence_nr"]
        self.forward_thread: NDArray[np.int32] = table["forward_thread"]
        self.inputs_id: NDArray[np.int32] = table["inputs_id"]
        self.stack_id: NDArray[np.int32] = table["stack_id"]
        self.device: NDArray[np.int32] = table["device"]
        self.stream: NDArray[np.int64] = table["stream"]
        self.nbytes: NDArray[np.int64] = table["nbytes"]
        self.strings = strings
        self.tracks = tracks
        self.tree_count = tree_count
        self.forward = forward
        self.info = info
        self.names: list[str] = list(strings.names)
        self._locations: dict[int, Location | None] = {}

    def __len__(self) -> int:
        return len(self.name_id)

    def __repr__(self) -> str:
        return f"<Trace {self.info.path!r}: {len(self):,} events, {len(self.steps)} steps>"

    # -- events -----------------------------------------------------------------------------------

    def event(self, row: int) -> Event:
        return Event(self, int(row))

    def events(self, rows: Iterable[int] | None = None) -> Iterator[Event]:
        """Views on the given rows, or on all of them in row order."""
        return (Event(self, int(row)) for row in (range(len(self)) if rows is None else rows))

    @cached_property
    def end_ns(self) -> NDArray[np.int64]:
        return self.start_ns + self.duration_ns

    def rows_named(self, *patterns: str) -> Rows:
        """Rows whose name is one of `patterns`; `*` stands for any text, all else for itself."""
        wanted = np.zeros(len(self.names), bool)
        wanted[[self.strings.names[name] for name in matching(self.names, patterns)]] = True
        return np.flatnonzero(wanted[self.name_id]) if wanted.any() else np.empty(0, np.int64)

    def named(self, *patterns: str) -> Iterator[Event]:
        return self.events(self.rows_named(*patterns))

    def rows_of_kind(self, *kinds: EventKind) -> Rows:
        return np.flatnonzero(np.isin(self.kind, kinds))

    def of_kind(self, *kinds: EventKind) -> Iterator[Event]:
        return self.events(self.rows_of_kind(*kinds))

    def rows_within(self, start_ns: int, end_ns: int, track_id: int | None = None) -> Rows:
        """Rows that start in [start_ns, end_ns), on one track if given."""
        order, starts = self._by_start if track_id is None else self._by_start_on_track[track_id]
        first, last = np.searchsorted(starts, (start_ns, end_ns))
        return order[first:last]

    def within(self, start_ns: int, end_ns: int, track_id: int | None = None) -> Iterator[Event]:
        """Events that start in an interval, by start: the question to ask of steps and ranges."""
        return self.events(self.rows_within(start_ns, end_ns, track_id))

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
        return np.flatnonzero(self.parent[: self.tree_count] < 0)

    @cached_property
    def previous_sibling(self) -> NDArray[np.int32]:
        """For each tree row the sibling before it, or -1; roots of one thread are siblings."""
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
        """Depth of each tree row, roots 0."""
        closing = np.bincount(self.subtree_end[: self.tree_count], minlength=self.tree_count + 1)
        opened = np.arange(self.tree_count) - np.cumsum(closing)[: self.tree_count]
        return opened.astype(np.int32)

    def dfs(self) -> Iterator[Event]:
        """The tree in depth-first order, children by start."""
        return self.events(range(self.tree_count))

    def bfs(self) -> Iterator[Event]:
        """The tree level by level."""
        return self.events(np.argsort(self.depth, kind="stable"))

    @cached_property
    def self_ns(self) -> NDArray[np.int64]:
        """Duration less the part that children on the same thread cover; shape (len,)."""
        self_ns = self.duration_ns.copy()
        rows = np.flatnonzero(self.parent >= 0)
        above = self.parent[rows]
        rows, above = (a[self.track_id[rows] == self.track_id[above]] for a in (rows, above))
        covered = np.minimum(self.end_ns[rows], self.end_ns[above]) - self.start_ns[rows]
        np.subtract.at(self_ns, above, np.maximum(covered, 0))
        return np.maximum(self_ns, 0)

    # -- devices ----------------------------------------------------------------------------------

    @cached_property
    def devices(self) -> dict[int, Device]:
        """Devices by index: of the header, and those with rows of their own."""
        calls = np.unique(self.name_id[self.kind == EventKind.Runtime])
        return read_devices(self.info.header, self.devices_used, (self.names[i] for i in calls))

    @cached_property
    def devices_used(self) -> tuple[int, ...]:
        """Indexes of the devices that did work in this trace."""
        return tuple(np.unique(self.device[self.device_rows]).tolist())

    @cached_property
    def device_rows(self) -> Rows:
        """Kernels, copies and fills, by start."""
        return self.rows_of_kind(*DEVICE_WORK)

    def device_busy(self, device: int) -> Intervals:
        """When any stream of a device had work."""
        rows = self.device_rows[self.device[self.device_rows] == device]
        return Intervals(self.start_ns[rows], self.end_ns[rows])

    def device_idle(self, device: int) -> Intervals:
        """When no stream of a device had work, between its first and its last."""
        busy = self.device_busy(device)
        return Intervals(busy.ends_ns[:-1], busy.starts_ns[1:])

    @cached_property
    def _device_by_op(self) -> tuple[Rows, Rows]:
        """(device rows, tree row each was launched from), by the latter."""
        rows = self.device_rows
        launch = self.caller[rows].astype(np.int64)
        via_call = launch >= self.tree_count
        ops = np.where(via_call, self.caller[np.maximum(launch, 0)], launch)
        order = np.argsort(ops, kind="stable")
        return rows[order], ops[order]

    def device_rows_under(self, row: int) -> Rows:
        """Kernels, copies and fills launched from a tree row or its descendants."""
        rows, ops = self._device_by_op
        first, last = np.searchsorted(ops, (row, int(self.subtree_end[row])))
        return rows[first:last]

    @cached_property
    def _calls_by_op(self) -> tuple[Rows, Rows]:
        calls = self.rows_of_kind(EventKind.Runtime)
        ops = self.caller[calls].astype(np.int64)
        order = np.argsort(ops, kind="stable")
        return calls[order], ops[order]

    def runtime_rows_under(self, row: int) -> Rows:
        """CUDA or HIP calls made in a tree row or its descendants."""
        rows, ops = self._calls_by_op
        first, last = np.searchsorted(ops, (row, int(self.subtree_end[row])))
        return rows[first:last]

    # -- time -------------------------------------------------------------------------------------

    @cached_property
    def start_ns_first(self) -> int:
        return int(self.start_ns[self._timed].min()) if self._timed.any() else 0

    @cached_property
    def span_ns(self) -> int:
        """From the first start to the last end of what ran; markers do not count."""
        return int(self.end_ns[self._timed].max()) - self.start_ns_first if self._timed.any() else 0

    @cached_property
    def _timed(self) -> NDArray[np.bool_]:
        # Python frames that never returned end with the profiler, and overhead is not the run's.
        idle = (EventKind.Overhead, EventKind.Other, EventKind.DeviceAnnotation)
        return ~np.isin(self.kind, idle)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return find_steps(self)

    @cached_property
    def step_time(self) -> Intervals:
        """The time inside steps, or the whole span where there are none."""
        if self.steps:
            return Intervals([s.start_ns for s in self.steps], [s.end_ns for s in self.steps])
        return Intervals([self.start_ns_first], [self.start_ns_first + self.span_ns])

    def step_share(self, time: Intervals) -> float | None:
        """The part of the time of the steps that is in `time`; None where it touches no step."""
        inside = time & self.step_time
        return inside.total_ns / self.step_time.total_ns if len(inside) else None

    def time_of(self, rows: Iterable[int]) -> Intervals:
        """When any of the given rows ran."""
        index = np.fromiter(rows, np.int64)
        return Intervals(self.start_ns[index], self.end_ns[index])

    # -- inputs, places, abilities ----------------------------------------------------------------

    @cached_property
    def inputs(self) -> Inputs:
        """Decoder of the recorded op inputs."""
        return Inputs(self.strings)

    def location(self, row: int) -> Location | None:
        """The user's frame nearest above a row, on its own thread.

        Where a backward op has none there, it is the frame of its forward.
        """
        path: list[int] = []
        found: Location | None = None
        forward = -1
        while row >= 0:
            if row in self._locations:
                found = self._locations[row]
                break
            path.append(row)
            self._locations[row] = None  # ends the search where links run in a circle
            found = self._own_location(row)
            if found is not None:
                break
            if row >= self.tree_count:
                row = int(self.caller[row])
                continue
            forward = self.forward.get(row, -1) if forward < 0 else forward
            above = int(self.parent[row])
            leaves_thread = above < 0 or self.track_id[above] != self.track_id[row]
            if leaves_thread and forward >= 0:
                above, forward = forward, -1
            row = above
        self._locations.update(dict.fromkeys(path, found))
        return found

    def _own_location(self, row: int) -> Location | None:
        stack = int(self.stack_id[row])
        if stack >= 0:
            return parse_call_stack(self._stacks[stack])
        if self.kind[row] != _PY_CALL:
            return None
        frame = parse_frame(self.names[self.name_id[row]])
        return frame if frame is not None and is_user_file(frame.file) else None

    def call_stack(self, row: int) -> str:
        """The `Call stack` of 2021 files (`file(line): function;...`, innermost first), else ""."""
        stack = int(self.stack_id[row])
        return self._stacks[stack] if stack >= 0 else ""

    @cached_property
    def _stacks(self) -> list[str]:
        return list(self.strings.stacks)

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """What this trace holds evidence of."""
        kinds = set(np.unique(self.kind).tolist())
        has = {
            Capability.OPS: EventKind.TorchOp in kinds,
            Capability.SHAPES: self.inputs.any_shapes(self.inputs_id),
            Capability.STACKS: EventKind.PyCall in kinds or bool((self.stack_id >= 0).any()),
            Capability.MEMORY: EventKind.Allocation in kinds,
            Capability.DEVICE: bool(kinds & set(DEVICE_WORK)),
            Capability.STEPS: bool(self.steps),
        }
        return frozenset(capability for capability, present in has.items() if present)

    @property
    def is_cpu_run(self) -> bool:
        """Whether the profiler saw that no GPU took part.

        It listed its devices and found none, or they were modelled ones, all of whose work is seen.
        """
        header = self.info.header
        seen = header.get("deviceProperties") == [] or header.get("tidy_modelled_device") is True
        return seen and Capability.DEVICE not in self.capabilities

    # -- averages ---------------------------------------------------------------------------------

    @cached_property
    def function_events(self) -> FunctionEvents:
        """The events that PyTorch's `profile.events()` lists, as columns."""
        from ..averages import FunctionEvents

        return FunctionEvents(self)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Averages of events with one name, as `torch.profiler.profile.key_averages` gives them."""
        from ..averages import key_averages

        return key_averages(self.function_events, group_by_input_shape, group_by_stack_n)

    def table(self, **options: Any) -> str:
        """The table of `key_averages()`; options as for `EventList.table`."""
        return self.key_averages().table(**options)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write folded stacks for a flame graph; see `EventList.export_stacks`."""
        self.key_averages().export_stacks(path, metric)

    def self_check(self) -> None:
        """Raise AssertionError where an invariant of the table does not hold."""
        from .check import check_trace

        check_trace(self)
