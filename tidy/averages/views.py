"""`FunctionEvent`: a view on one function event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .average import Times

if TYPE_CHECKING:
    from ..trace import Event
    from .function_events import FunctionEvents


class FunctionEvent(Times):
    """One event; attributes as PyTorch names them, times in microseconds."""

    is_async = is_legacy = is_remote = False
    node_id = -1

    def __init__(self, events: FunctionEvents, index: int) -> None:
        self._events = events
        self.index = index
        self.count = 1
        self.cpu_time_total_ns = self._column("cpu_ns")
        self.self_cpu_time_total_ns = self._column("self_cpu_ns")
        self.device_time_total_ns = self._column("device_ns")
        self.self_device_time_total_ns = self._column("self_device_ns")

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
    def key(self) -> str:
        return self._events.keys[int(self._events.key_id[self.index])]

    name = key

    @property
    def trace_name(self) -> str:
        """The name as recorded: of a step with its number."""
        return self.event.name

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The event around it on its thread, None at top level."""
        parent = int(self._events.parent[self.index])
        return None if parent < 0 else FunctionEvent(self._events, parent)

    @property
    def input_shapes(self) -> list[Any]:
        return listed_shapes(self.event.input_shapes)

    @property
    def sequence_nr(self) -> int:
        return self.event.sequence_nr

    @property
    def stack(self) -> list[str]:
        """Python frames around it, innermost first."""
        return list(self._events.stacks.frames(int(self._events.stack_number[self.index])))

    @property
    def device_type(self) -> str:
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

    @property
    def cpu_memory_usage(self) -> int:
        return self._column("cpu_nbytes")

    @property
    def self_cpu_memory_usage(self) -> int:
        return self._column("self_cpu_nbytes")

    @property
    def device_memory_usage(self) -> int:
        return self._column("device_nbytes")

    @property
    def self_device_memory_usage(self) -> int:
        return self._column("self_device_nbytes")

    def _column(self, name: str) -> int:
        return int(self._events.columns[name][self.index])


def listed_shapes(shapes: tuple[Any, ...]) -> list[Any]:
    """As lists, and an input that is a list of tensors as []: PyTorch's `input_shapes`."""
    return [_dims(dims) for dims in shapes]


def _dims(dims: Any) -> list[Any]:
    if not isinstance(dims, tuple) or any(isinstance(each, tuple) for each in dims):
        return []
    return list(dims)
