"""One modelled device: its streams, its engines, and the launching of work.

    host      |launch|launch|launch|                    |synchronize......|
    stream 7       |kernel   |kernel |kernel      |
    stream 13                   |copy   |

Work on a stream begins when the host has launched it and what is before it on the stream is done.
Kernels that fill the whole device share it with no others; copies one way share one engine.
"""

from __future__ import annotations

import itertools
import math
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import activity, clock
from .activity import DeviceWork, RuntimeCall
from .cost import KernelPlan, occupancy

if TYPE_CHECKING:
    from .specs import DeviceSpec
    from .streams import Stream

DEFAULT_STREAM = 7  # as Kineto numbers it
_QUEUE = 1024  # launches that may wait before the host has to
_KEPT_SPANS = 64
SYNC_NS = 3_000  # a call that waits, when there is nothing to wait for

correlations = itertools.count(1)


class Engine:
    """What does one thing at a time; work takes the first gap that it fits in."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def place(self, ready_ns: int, duration_ns: int) -> int:
        """When work that is ready at `ready_ns` begins."""
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


class ModelledDevice:
    """`cuda:index`, which behaves as `spec` says."""

    def __init__(self, index: int, spec: DeviceSpec) -> None:
        from .allocator import CachingAllocator
        from .streams import Stream as Made

        self.index, self.spec = index, spec
        self.allocator = CachingAllocator(index, spec.memory_nbytes)
        self.compute, self.upload, self.download = Engine(), Engine(), Engine()
        self.kernels: dict[Any, tuple[KernelPlan, ...]] = {}  # by operator and operands
        self._queue: deque[int] = deque(maxlen=_QUEUE)
        self._stream_numbers = itertools.count(DEFAULT_STREAM + 6, 4)
        self.streams: list[Stream] = []
        self.default_stream = Made._make(self, DEFAULT_STREAM, 0)

    def next_stream_number(self) -> int:
        return next(self._stream_numbers)

    @property
    def idle_ns(self) -> int:
        """When all that was launched is done."""
        return max(stream.ready_ns for stream in self.streams)

    def launched(self, host_ns: int) -> int:
        """The host launches at `host_ns`; when it can go on: it waits where the queue is full."""
        queue = self._queue
        if len(queue) == _QUEUE and queue[0] > host_ns:
            host_ns = queue[0]
        return host_ns + self.spec.launch_ns

    def run(
        self,
        stream: Stream,
        ready_ns: int,
        duration_ns: int,
        is_full: bool = False,
        engine: Engine | None = None,
    ) -> tuple[int, int]:
        """Work on a stream, launched by `ready_ns`: (start, end).

        Args:
            is_full: whether it fills the device.
        """
        begin = ready_ns + self.spec.start_latency_ns
        begin = max(begin, stream.ready_ns)
        if is_full and len(self.streams) > 1:  # one stream alone keeps the order
            engine = self.compute
        if engine is not None:
            begin = engine.place(begin, duration_ns)
        end = begin + duration_ns
        stream.ready_ns = end
        self._queue.append(end)
        return begin, end


_args: dict[tuple[KernelPlan, str], Mapping[str, Any]] = {}


def kernel_args(plan: KernelPlan, spec: DeviceSpec) -> Mapping[str, Any]:
    """What a trace shows of a kernel."""
    found = _args.get((plan, spec.key))
    if found is None:
        found = _args[plan, spec.key] = _kernel_args(plan, spec)
    return found


def _kernel_args(plan: KernelPlan, spec: DeviceSpec) -> Mapping[str, Any]:
    blocks, threads = math.prod(plan.grid), math.prod(plan.block)
    return {
        "grid": list(plan.grid),
        "block": list(plan.block),
        "registers per thread": plan.registers,
        "shared memory": plan.shared_nbytes,
        "blocks per SM": round(blocks / spec.sm_count, 6),
        "warps per SM": round(blocks * -(-threads // spec.warp_size) / spec.sm_count, 6),
        "est. achieved occupancy %": round(100 * occupancy(plan, spec)[0]),
    }


def log_call(name: str, start_ns: int, end_ns: int, correlation: int) -> None:
    """Tell all logs of a call of this thread."""
    call = RuntimeCall(name, start_ns, end_ns, threading.get_ident(), correlation)
    for log in activity.logs:
        log.calls.append(call)


def log_work(
    kind: str,
    name: str,
    span: tuple[int, int],
    stream: Stream,
    correlation: int,
    nbytes: int = 0,
    args: Mapping[str, Any] | None = None,
    reads: tuple[int, ...] = (),
    writes: tuple[int, ...] = (),
) -> None:
    """Tell all logs of work on a stream; what the host waits for but a stream is on none (-1)."""
    on_none = kind == "cuda_sync" and name in ("Context Sync", "Event Sync")
    work = DeviceWork(
        kind,
        name,
        *span,
        stream.device_index,
        -1 if on_none else stream.number,
        correlation,
        nbytes,
        args or {},
        reads,
        writes,
    )
    for log in activity.logs:
        log.work.append(work)


def host_call(name: str, cost_ns: int) -> int:
    """A call that takes the host `cost_ns` and launches nothing; gives its correlation."""
    start = clock.now_ns()
    correlation = next(correlations)
    clock.wait_until(start + cost_ns)
    if activity.logs:
        log_call(name, start, start + cost_ns, correlation)
    return correlation


def host_wait(name: str, until_ns: int, kind: str, stream: Stream, **args: Any) -> None:
    """A call in which the host waits for the device until `until_ns`."""
    start = clock.now_ns()
    end = max(until_ns, start + SYNC_NS)
    clock.wait_until(end)
    if activity.logs:
        correlation = next(correlations)
        log_call(name, start, end, correlation)
        log_work(
            "cuda_sync",
            kind,
            (start, end),
            stream,
            correlation,
            args={"cuda_sync_kind": kind, "wait_on_stream": stream.number, **args},
        )
