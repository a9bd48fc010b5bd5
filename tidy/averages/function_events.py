"""Function events: what `profile.events()` of PyTorch lists, as columns.

They follow `_parse_kineto_results` in torch/autograd/profiler.py, and `FunctionEvent` and
`EventList._build_tree` in torch/autograd/profiler_util.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..trace import Capability, Event, EventKind, Trace
from ..trace.flops import count_flops
from .columns import Measures
from .host import Numbers, measure_host
from .stacks import PythonStacks, stacks_of_events

_ON_HOST = (
    EventKind.TorchOp,
    EventKind.Annotation,
    EventKind.PyCall,
    EventKind.PyCCall,
    EventKind.Backend,
    EventKind.OutOfMemory,
    EventKind.Runtime,
    EventKind.Overhead,
)
# Sync rows are not among them: a device that waits does no work, and its streams may have some.
_ON_DEVICE = (EventKind.Kernel, EventKind.Memcpy, EventKind.Memset, EventKind.DeviceAnnotation)
_ANNOTATIONS = (EventKind.Annotation, EventKind.DeviceAnnotation)
# What the profiler and autograd call for themselves (`_filter_name` in profiler_util.py).
_UTILITIES = (
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
)


class FunctionEvents(Sequence["FunctionEvent"]):
    """Columns of n events by start, of those with one start the longer first.

    Attributes:
        trace: where they come from.
        rows: the trace's row of each.
        keys, key_id: names, and the index of each event's among them.
        parent: index of the event around it on its thread, -1 for none.
        is_device, is_annotation: a row of a device; a range that the user marked.
        columns: times in nanoseconds and memory in bytes, by field of a row of the table; those
            that begin with `self_` are without what the children have.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.keys, key_of_name = _keys(trace)
        host = measure_host(trace, _host_rows(trace), key_of_name)
        device, records = trace.rows_of_kind(*_ON_DEVICE), host.lone_records
        rows = np.concatenate([host.rows, device, records])
        order = np.lexsort((-trace.end_ns[rows], trace.start_ns[rows]))
        self.rows: Numbers = rows[order]
        self.key_id: NDArray[np.int32] = key_of_name[trace.name_id[self.rows]]
        kind = trace.kind[self.rows]
        self.is_annotation: NDArray[np.bool_] = np.isin(kind, _ANNOTATIONS)
        self.is_device: NDArray[np.bool_] = np.isin(kind, _ON_DEVICE)
        others = _of_devices_and_records(trace, device, records)
        self.columns: dict[str, Numbers] = {
            name: np.concatenate([column, others[name.removeprefix("self_")]])[order]
            for name, column in host.columns.items()
        }
        place = np.empty(len(order) + 1, np.int64)
        place[order], place[-1] = np.arange(len(order)), -1  # the last for a parent of -1
        self.parent: Numbers = np.full(len(order), -1, np.int64)
        self.parent[place[: len(host.rows)]] = place[host.parent]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> FunctionEvent: ...
    @overload
    def __getitem__(self, index: slice) -> list[FunctionEvent]: ...
    def __getitem__(self, index: int | slice) -> FunctionEvent | list[FunctionEvent]:
        wanted = range(len(self))[index]
        if isinstance(wanted, int):
            return FunctionEvent(self, wanted)
        return [FunctionEvent(self, each) for each in wanted]

    def __repr__(self) -> str:
        return f"<{len(self):,} function events of {self.trace!r}>"

    @cached_property
    def flops(self) -> Numbers:
        """FLOPs of each call, 0 where shapes were not recorded or the op has no formula."""
        flops, inputs = np.zeros(len(self), np.int64), self.trace.inputs
        called = np.flatnonzero(self.trace.inputs_id[self.rows] >= 0)
        flops[called] = self.trace.by_call(
            self.rows[called], lambda name, given: count_flops(name, inputs, given)
        )
        return flops

    @cached_property
    def stacks(self) -> PythonStacks:
        """The Python stacks of the trace."""
        return PythonStacks(self.trace)

    @cached_property
    def stack_number(self) -> Numbers:
        """The number of each event's stack; a backward event has the stack of its forward."""
        return stacks_of_events(
            self.stacks, self.trace, self.rows, self.parent, self.keys, self.key_id
        )

    @cached_property
    def use_device(self) -> str | None:
        """PyTorch's word for the devices recorded ("cuda" for AMD's too), None without devices."""
        trace = self.trace
        uses_memory = bool((trace.nbytes[trace.device >= 0] != 0).any())
        if not len(trace.device_rows) and not uses_memory:
            return None
        calls = (trace.names[i] for i in np.unique(trace.name_id[trace.kind == EventKind.Runtime]))
        return "xpu" if any(name.startswith(("ur", "ze")) for name in calls) else "cuda"

    @property
    def profile_memory(self) -> bool:
        """Whether memory was recorded."""
        info = self.trace.info
        return info.flag("profile_memory") or Capability.MEMORY in self.trace.capabilities

    @property
    def with_flops(self) -> bool:
        """Whether the profiler was asked for FLOPs."""
        return self.trace.info.flag("with_flops")


def _keys(trace: Trace) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct keys, and the key of each name: all `ProfilerStep#N` are `ProfilerStep*`."""
    keys: dict[str, int] = {}
    key_of_name = [
        keys.setdefault("ProfilerStep*" if name.startswith("ProfilerStep#") else name, len(keys))
        for name in trace.names
    ]
    return list(keys), np.array(key_of_name, np.int32)


def _host_rows(trace: Trace) -> Numbers:
    """The rows of the host that are listed, in row order."""
    listed = np.ones(len(trace.names), bool)
    known = trace.strings.names
    listed[[known[name] for name in _UTILITIES if name in known]] = False
    rows = trace.rows_of_kind(*_ON_HOST)
    return rows[listed[trace.name_id[rows]]]


def _of_devices_and_records(trace: Trace, device: Numbers, records: Numbers) -> dict[str, Numbers]:
    """What rows of devices, and then memory records during no event, add to each column."""
    nbytes, on_device = trace.nbytes[records], trace.device[records] >= 0
    no_time, no_memory = np.zeros(len(records), np.int64), np.zeros(len(device), np.int64)
    return {
        "cpu_time_total_ns": np.zeros(len(device) + len(records), np.int64),
        "device_time_total_ns": np.concatenate([trace.duration_ns[device], no_time]),
        "cpu_memory_usage": np.concatenate([no_memory, np.where(on_device, 0, nbytes)]),
        "device_memory_usage": np.concatenate([no_memory, np.where(on_device, nbytes, 0)]),
    }


class FunctionEvent(Measures):
    """A view on one function event; attributes as PyTorch names them, times in microseconds."""

    def __init__(self, events: FunctionEvents, index: int) -> None:
        self._events = events
        self.index = index
        measured = {name: int(column[index]) for name, column in events.columns.items()}
        super().__init__(events.keys[int(events.key_id[index])], 1, **measured)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionEvent):
            return NotImplemented
        return self.index == other.index and self._events is other._events

    def __hash__(self) -> int:
        return hash((id(self._events), self.index))

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.key!r} cpu_time={self.cpu_time_str}>"

    @property
    def event(self) -> Event:
        """The event of the trace."""
        return self._events.trace.event(int(self._events.rows[self.index]))

    @property
    def name(self) -> str:
        return self.key

    @property
    def trace_name(self) -> str:
        """The name as it was recorded; that of a step has its number."""
        return self.event.name

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The event around it on its thread, None at top level."""
        parent = int(self._events.parent[self.index])
        return None if parent < 0 else FunctionEvent(self._events, parent)

    @property
    def input_shapes(self) -> list[Any]:
        """The shape of each input; [] for a list of tensors and for what is not a tensor."""
        return listed_shapes(self.event.input_shapes)

    @property
    def sequence_nr(self) -> int:
        """The autograd sequence number, -1 for none."""
        return self.event.sequence_nr

    @property
    def stack(self) -> list[str]:
        """Python frames around it, innermost first."""
        return list(self._events.stacks.frames(int(self._events.stack_number[self.index])))

    @property
    def device_type(self) -> str:
        """The word "cpu", or for a row of a device "cuda" or "xpu"."""
        on_device = self._events.is_device[self.index]
        return (self._events.use_device or "cuda") if on_device else "cpu"

    @property
    def use_device(self) -> str | None:
        return self._events.use_device

    @property
    def is_user_annotation(self) -> bool:
        return bool(self._events.is_annotation[self.index])

    @property
    def flops(self) -> int:
        return int(self._events.flops[self.index])


def listed_shapes(shapes: tuple[Any, ...]) -> list[Any]:
    """Shapes as lists, with [] for an input that is a list of tensors: PyTorch's `input_shapes`."""
    return [_dims(dims) for dims in shapes]


def _dims(dims: Any) -> list[Any]:
    if not isinstance(dims, tuple) or any(isinstance(each, tuple) for each in dims):
        return []
    return list(dims)
