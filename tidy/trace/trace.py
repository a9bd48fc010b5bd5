"""`Trace`: a recorded run, with views on its events and the questions that rules ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .check import check_table
from .event import Event, Events
from .event_table import EventTable
from .first_calls import first_calls
from .info import Capability, DeviceProperties, read_devices
from .inputs import Inputs, Shape
from .intervals import Intervals
from .kinds import DEVICE_WORK, EventKind
from .location import Location, is_user_file, parse_call_stack, parse_frame
from .lost import FEWEST_LOST, FEWEST_LOST_SHARE, kernel_launches, lost_launches
from .raw_columns import Rows
from .steps import Step, find_steps
from .window import Window, find_window

_MOST = 1 << 53  # operations or bytes: a call with more would take hours, its sizes are damaged
_FEWEST_KERNELS = 2  # of a graph: nobody captures one
_PY_CALL = int(EventKind.PyCall)  # members of an enum are slow to look up

# Ops that PyTorch has for one sort of device.
_ON_A_GPU = "aten::cudnn_*", "aten::_cudnn_*", "aten::miopen_*"
_ASKS_FOR_A_GPU = "aten::cudnn_is_acceptable"  # nn.LSTM, nn.GRU and nn.RNN call it on every device
_ON_A_CPU = "aten::mkldnn_*", "aten::_mkldnn_*", "mkldnn::*", "aten::_nnpack_*", "aten::*_for_cpu*"
_USES_A_DEVICE = "*Launch*", "*Memcpy*", "*Memset*"  # of calls


class Trace(EventTable):
    """A recorded run. It is built by `build_trace` and immutable afterwards."""

    # `tidy.averages` attaches the first four when it is imported, and `tidy.load` the last one; the
    # trace itself makes neither averages nor reports.
    function_events: Any
    key_averages: Callable[..., Any]
    table: Callable[..., str]
    export_stacks: Callable[..., None]
    _repr_html_: Callable[[Trace], str]

    def __repr__(self) -> str:
        return f"<Trace {self.info.path!r}: {len(self):,} events, {len(self.steps)} steps>"

    def event(self, row: int) -> Event:
        """Return a view on one row."""
        return Event(self, int(row))

    def events(self, rows: Iterable[int] | None = None) -> Events:
        """Views on the given rows, or on all of them in row order."""
        if rows is None:
            rows = np.arange(len(self), dtype=np.int32)
        elif not isinstance(rows, np.ndarray):
            rows = np.fromiter(rows, np.int64)
        return Events(self, rows)

    def named(self, *patterns: str) -> Events:
        """Events whose name is one of `patterns`, see `rows_named`."""
        return self.events(self.rows_named(*patterns))

    def of_kind(self, *kinds: EventKind) -> Events:
        """Events of one of these kinds, in row order."""
        return self.events(self.rows_of_kind(*kinds))

    def within(self, start_ns: int, end_ns: int, track_id: int | None = None) -> Events:
        """Events that start in [start_ns, end_ns), by start, on one track if given.

        This is the way to ask what happened in a step or a range.
        """
        return self.events(self.rows_within(start_ns, end_ns, track_id))

    def dfs(self) -> Events:
        """Return the tree in depth-first order, children by start."""
        return self.events(np.arange(self.tree_count, dtype=np.int32))

    def bfs(self) -> Events:
        """Return the tree level by level."""
        return self.events(np.argsort(self.depth, kind="stable"))

    @cached_property
    def devices(self) -> dict[int, DeviceProperties]:
        """Devices by index: those that the header lists, and those that have rows."""
        calls = np.unique(self.name_id[self.kind == EventKind.Runtime])
        names = [self.names[number] for number in calls]
        return read_devices(self.info.header, self.devices_used, names, self.info.accelerators)

    @cached_property
    def device_is_modelled(self) -> bool:
        """Whether the times of the devices that did work were computed by a model, not measured.

        The header of the trace says so, or the name of a device.
        """
        said = self.info.header.get("tidy_modelled_device") is True
        names = [self.devices[index].name for index in self.devices_used]
        return bool(names) and (said or any(name.endswith("(modelled)") for name in names))

    @cached_property
    def graphs_without_kernels(self) -> Rows:
        """Launches of graphs that seem to have one kernel or none: the others are missing."""
        graphs = self.rows_named("cuGraphLaunch*", "cudaGraphLaunch*", "hipGraphLaunch*")
        callers = self.caller[self.device_rows]
        count = np.bincount(callers[callers >= 0], minlength=len(self))
        without: Rows = graphs[count[graphs] < _FEWEST_KERNELS]
        return without

    @cached_property
    def lost_launches(self) -> Rows:
        """Launches whose kernels are not in the recording, while it has others."""
        return lost_launches(self)

    @cached_property
    def loses_kernels(self) -> bool:
        """Whether more kernels are lost than a few at the edges of the recording."""
        fewest = max(FEWEST_LOST, FEWEST_LOST_SHARE * len(kernel_launches(self)))
        return len(self.lost_launches) >= fewest

    @cached_property
    def may_lack_work(self) -> bool:
        """Whether device work may be missing: kernels of graphs, or what a file has lost.

        What seems to be idle time of a device is an upper bound then.
        """
        lacks = self.info.is_thinned or "damaged" in " ".join(self.info.warnings)
        lacks = lacks or len(self.graphs_without_kernels) > 0 or self.loses_kernels
        return bool(self.devices_used) and lacks

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The training steps by time, () where none were marked; see steps.py."""
        return find_steps(self, self.location)

    @cached_property
    def first_calls(self) -> dict[int, str]:
        """Rows that take long because they are the first of their kind, with the reason."""
        return first_calls(self)

    @cached_property
    def window(self) -> Window:
        """The time that all shares are of: the steps that are alike; see window.py."""
        return find_window(self, self.steps, self.first_calls)

    def without_steps(self, ranges: Set[tuple[int, int]], reason: str) -> Trace:
        """Return the same recording with a window that leaves out the steps that start and
        end so.
        """
        return self._with(self.window.without(ranges, reason))

    def only_step(self, which: str) -> Trace:
        """Return the same recording with a window of one step: a number, or "slowest".

        Raises:
            ValueError: it has no such step; the message says which it has.
        """
        return self._with(self.window.only(which))

    def _with(self, window: Window) -> Trace:
        other = copy(self)
        # What was computed before stays, but for what is of the window.
        other.__dict__["window"] = window
        return other

    @property
    def step_time(self) -> Intervals:
        """The time of the window."""
        return self.window.time

    def step_share(self, time: Intervals) -> float | None:
        """Return the part of the window that is in `time`, 0 to 1; None if it touches none
        of it.
        """
        inside = time & self.step_time
        if not len(inside):
            return None
        # Times of damaged files may be beyond what a sum of them holds.
        return min(max(inside.total_ns / self.step_time.total_ns, 0.0), 1.0)

    def in_window(self, rows: Iterable[int]) -> NDArray[np.bool_]:
        """Tell for each row whether some of its time (its start, if it has none) is in the window.

        Where the host runs ahead, what it runs is if that is in steps that count, as it runs them.
        All are where the window is empty.
        """
        index = rows if isinstance(rows, np.ndarray) else np.array(list(rows), np.int64)
        if not len(self.step_time):
            return np.ones(len(index), bool)
        result = self._reaches_into(self.step_time, index)
        if self.window.finished is not None:  # the host ran what counts before the devices did
            host_time = Intervals(*np.array(self.window.step_ranges, np.int64).T)
            of_devices = result | host_time.contains(self.start_ns[index])
            of_host = self._reaches_into(host_time, index)
            result = np.where(self.device[index] < 0, of_host, of_devices)
        return result

    def _reaches_into(self, time: Intervals, rows: Rows) -> NDArray[np.bool_]:
        starts, ends = self.start_ns[rows], self.end_ns[rows]
        return np.asarray(time.contains(starts) | (time.covered_ns(starts, ends) > 0))

    # -- inputs, places, abilities ----------------------------------------------------------------

    @cached_property
    def inputs(self) -> Inputs:
        """The recorded inputs of ops, decoded when they are asked for."""
        return Inputs(self.strings)

    def by_call(self, rows: Rows, value: Callable[[str, int], int]) -> Rows:
        """`value(name, inputs_id)` for each tree row, computed once for what is alike."""
        calls = self.name_id[rows].astype(np.int64) << 32
        calls += self.inputs_id[rows] + 1  # -1 stands for none
        alike, inverse = np.unique(calls, return_inverse=True)
        names, inputs = (alike >> 32).tolist(), ((alike & (1 << 32) - 1) - 1).tolist()
        values = map(value, (self.names[name] for name in names), inputs)
        known = np.array([min(each, _MOST) for each in values], np.int64)
        return known[inverse]

    def by_dtypes(self, rows: Rows, value: Callable[[Shape], bool]) -> NDArray[np.bool_]:
        """`value(dtypes)` for each tree row, computed once for dtypes that are alike."""
        texts = np.append(self.inputs.dtype_texts, -1)[self.inputs_id[rows]]  # -1: no inputs
        _, first, inverse = np.unique(texts, return_index=True, return_inverse=True)
        some = self.inputs_id[rows[first]].tolist()
        return np.array([value(self.inputs.dtypes(each)) for each in some], bool)[inverse]

    @cached_property
    def _locations(self) -> dict[int, Location | None]:
        return {}

    def location(self, row: int) -> Location | None:
        """Return the user's frame nearest above a row, on its own thread; None if there is none.

        A backward op without such a frame has the place of its forward.
        """
        if not self._has_places:
            return None
        known, tracks, path = self._locations, self.track_id, list[int]()
        location: Location | None = None
        forward = -1
        while row >= 0:
            if row in known:
                location = known[row]
                break
            path.append(row)
            known[row] = None  # ends the search where links run in a circle
            location = self._own_location(row)
            if location is not None:
                break
            if row >= self.tree_count:
                row = self.caller.item(row)
                continue
            forward = self.forward.get(row, -1) if forward < 0 else forward
            above = self.parent.item(row)
            leaves_thread = above < 0 or tracks.item(above) != tracks.item(row)
            if leaves_thread and forward >= 0:
                above, forward = forward, -1
            row = above
        known.update(dict.fromkeys(path, location))
        return location

    def _own_location(self, row: int) -> Location | None:
        stack = self.stack_id.item(row)
        if stack >= 0:
            return self.places_of_stacks[stack]
        if self.kind.item(row) != _PY_CALL:
            return None
        name = self.name_id.item(row)
        if name not in self._users_frames:
            frame = parse_frame(self.names[name])
            is_users = frame is not None and is_user_file(frame.file)
            self._users_frames[name] = frame if is_users else None
        return self._users_frames[name]

    @cached_property
    def _users_frames(self) -> dict[int, Location | None]:
        """By the id of the name of a Python function where it is; None of those of libraries."""
        return {}

    @cached_property
    def _has_places(self) -> bool:
        return bool((self.kind == _PY_CALL).any()) or bool((self.stack_id >= 0).any())

    @cached_property
    def user_places(self) -> frozenset[Location]:
        """All places of the user's sources that the trace names: calls, or functions."""
        called = np.unique(self.name_id[self.kind == _PY_CALL]).tolist()
        frames = (parse_frame(self.names[each]) for each in called)
        places = {each for each in frames if each is not None and is_user_file(each.file)}
        stacks = np.unique(self.stack_id[self.stack_id >= 0]).tolist()
        return frozenset(places.union(filter(None, map(self.places_of_stacks.__getitem__, stacks))))

    @cached_property
    def places_of_stacks(self) -> list[Location | None]:
        """The user's innermost frame in each `Call stack`, by `stack_id`."""
        return list(map(parse_call_stack, self.strings.stacks))

    def call_stack(self, row: int) -> str:
        """Return the `Call stack` of 2021 files (`file(line): function;...`, innermost first), else
        "".
        """
        return self._stacks[int(self.stack_id[row])]

    @cached_property
    def _stacks(self) -> list[str]:
        return [*self.strings.stacks, ""]

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
        return frozenset(capability for capability in has if has[capability]) - self.info.lacks

    @cached_property
    def is_cpu_run(self) -> bool:
        """Whether no GPU took part, as far as the recording tells.

        Work, memory or ops of a GPU tell that one did, and so do calls that launch or copy. Else
        that none did is told by modelled devices, whose work is all recorded; by a header without
        devices; by calls that only wait, such as the profiler's own; by memory, which is the CPU's
        alone; and by ops that only a CPU has.
        """
        header = self.info.header
        if Capability.DEVICE in self.capabilities or self.info.accelerators:
            return False
        if header.get("tidy_modelled_device") is True:
            return True
        calls = self.rows_of_kind(EventKind.Runtime)
        memory = self.device[self.memory.row]
        uses = self.rows_named(*_USES_A_DEVICE)
        on_a_gpu = np.setdiff1d(self.rows_named(*_ON_A_GPU), self.rows_named(_ASKS_FOR_A_GPU))
        if (memory >= 0).any() or len(on_a_gpu) or np.isin(uses, calls).any():
            return False
        told = len(calls) or len(memory) or len(self.rows_named(*_ON_A_CPU))
        return header.get("deviceProperties") == [] or bool(told)

    def self_check(self) -> None:
        """Check the invariants of the table.

        Raises:
            AssertionError: an invariant does not hold.
        """
        check_table(self, self.steps)
