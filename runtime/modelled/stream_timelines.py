"""What a device keeps of each stream, and the units of the device that streams have to share.

    stream 7    |kernel   |kernel |...          ready_ns: when all work that it was given is done
    stream 13        |copy   |
    upload           |copy   |                  one copy to the device at a time

A stream may be in a capture: then its work is not run but goes into a CUDA graph (cuda_graphs.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.storage import owner_of

if TYPE_CHECKING:
    from .cost import KernelPlan

DEFAULT_STREAM = 7  # as Kineto numbers it
_KEPT_SPANS = 64


class StreamTimeline:
    """One stream of a device, as the device sees it; `Stream` is what users have of it."""

    device_index: int
    number: int
    ready_ns: int  # modelled time at which all its work is done
    capture: Capture | None  # takes up its work in place of the device

    @property
    def is_default(self) -> bool:
        """Whether it is the stream that work goes to where no other is chosen."""
        return self.number == DEFAULT_STREAM


class CapturedOperator(NamedTuple):
    """An operator of a graph: `inner(*args, **kwargs)` gave the tensors `outs`."""

    inner: Callable[..., Any]
    args: Any
    kwargs: Any
    outs: Sequence[Any]


class Capture:
    """Operators and kernels that streams are given while a CUDA graph takes them up."""

    def __init__(self) -> None:
        self.plans: list[KernelPlan] = []
        self.operators: list[CapturedOperator] = []
        self.streams: list[StreamTimeline] = []  # those whose work it takes up now
        self._before: dict[int, tuple[Any, Any]] = {}  # arrays that operators have overwritten

    def join(self, stream: StreamTimeline) -> None:
        """Take up this stream's work from now on; a replay keeps the order of the host."""
        stream.capture = self
        self.streams.append(stream)

    def keep(self, arrays: Iterable[Any]) -> None:
        """Remember what an operator is about to overwrite: a capture changes no values."""
        for array in arrays:
            owner = owner_of(array)
            if id(owner) not in self._before:
                self._before[id(owner)] = owner, owner.copy()

    def end(self) -> None:
        """Take up no more work, and put back what was overwritten."""
        for stream in self.streams:
            stream.capture = None
        for owner, before in self._before.values():
            owner[...] = before
        self.streams, self._before = [], {}


class HardwareEngine:
    """A unit of the device that does one thing at a time; work takes the first gap it fits in."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def place(self, ready_ns: int, duration_ns: int) -> int:
        """Return the time at which work begins that is ready at `ready_ns`."""
        starts, ends = self._starts, self._ends
        if not ends or ready_ns >= ends[-1]:
            begin, place = ready_ns, len(ends)
        else:
            place = bisect_right(ends, ready_ns)
            begin = ready_ns
            while place < len(starts) and starts[place] < begin + duration_ns:
                begin = max(begin, ends[place])
                place += 1
        starts.insert(place, begin)
        ends.insert(place, begin + duration_ns)
        if len(ends) > _KEPT_SPANS:
            del starts[0], ends[0]
        return begin
