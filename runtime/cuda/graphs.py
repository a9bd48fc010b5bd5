"""CUDA graphs in the simple form: operators on one stream are taken up, and run again at once.

    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        static_output = model(static_input)
    static_input.copy_(batch)
    g.replay()

A replay computes anew into the same tensors and costs the host one launch. What is not an operator
(Python's own work, reads by the host) is not repeated. Source: torch/cuda/graphs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..storage import owner_of, storage_of
from . import activity, clock
from .cost import KernelPlan
from .launch import log_kernel
from .modelled_device import correlations, log_call
from .operands import tensors_in
from .state import current_stream, here
from .streams import Stream, StreamContext, synchronize

_NODE_GAP_NS = 500  # from one kernel of a graph to the next


class CUDAGraph:
    """Operators that were taken up, and their kernels."""

    def __init__(self, keep_graph: bool = False) -> None:
        self.plans: list[KernelPlan] = []
        self._steps: list[tuple[Callable[..., Any], Any, Any, Sequence[Any]]] = []
        self._stream: Stream | None = None
        self._joined: list[Stream] = []
        self._before: dict[int, tuple[Any, Any]] = {}  # what operators have overwritten

    @property
    def takes_up(self) -> bool:
        """Whether a capture is going on."""
        return self._stream is not None and self._stream.capture is self

    def join(self, stream: Stream) -> None:
        """Take up this stream's work too, from now on; a replay keeps the host's order."""
        stream.capture = self
        self._joined.append(stream)

    def keep(self, arrays: Iterable[Any]) -> None:
        """A capture only takes up: what an operator is about to change is put back in the end."""
        for array in arrays:
            owner = owner_of(array)
            if id(owner) not in self._before:
                self._before[id(owner)] = owner, owner.copy()

    def add(self, inner: Callable[..., Any], args: Any, kwargs: Any, outs: Sequence[Any]) -> None:
        """An operator ran on the stream, with these results."""
        self._steps.append((inner, args, kwargs, outs))

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Take up what the current stream is given from now on.

        Raises:
            RuntimeError: it is the default stream, or is being captured already.
        """
        stream = current_stream(here.device)
        if stream is stream.owner.default_stream:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        if stream.capture is not None:
            raise RuntimeError("CUDA error: the stream is being captured already")
        self.reset()
        self._stream = stream
        stream.capture = self

    def capture_end(self) -> None:
        """No more."""
        if self._stream is None or self._stream.capture is not self:
            raise RuntimeError("capture_end() without a capture_begin()")
        for stream in (self._stream, *self._joined):
            stream.capture = None
        for owner, before in self._before.values():
            owner[...] = before
        self._joined, self._before = [], {}

    def reset(self) -> None:
        """Forget what was taken up."""
        self.plans, self._steps = [], []

    def pool(self) -> tuple[int, int]:
        return id(self), 0

    def replay(self) -> None:
        """Run everything again, on the current stream."""
        stream = current_stream(here.device)
        clock.open_stretch()
        cost = 0
        try:
            for inner, args, kwargs, outs in self._steps:
                _run_again(inner, args, kwargs, outs)
            cost = self._launch(stream)
        finally:
            clock.close_stretch(cost)

    def _launch(self, stream: Stream) -> int:
        """All kernels, by one call; gives what that takes the host."""
        host = clock.now_ns()
        after = stream.owner.launched(host)
        correlation = next(correlations)
        reads = _numbers(x for _, args, _, _ in self._steps for x in args)
        writes = _numbers(x for *_, outs in self._steps for x in outs)
        ready = after
        for number, each in enumerate(self.plans, 1):
            span = stream.owner.run(stream, ready, each.duration_ns)
            ready = span[1] - stream.owner.spec.start_latency_ns + _NODE_GAP_NS
            if activity.logs:
                node = {"graph id": 1, "graph node id": number}
                log_kernel(each, span, stream, correlation, reads, writes, node)
        if activity.logs:
            log_call("cudaGraphLaunch", host, after, correlation)
        return after - host


def _run_again(inner: Any, args: Any, kwargs: Any, outs: Sequence[Any]) -> None:
    from ..grad_mode import no_grad

    with no_grad():
        found = inner(*args, **kwargs)
    for old, new in zip(outs, tensors_in((found,)), strict=True):
        if old.array is not new.array:
            old.array[...] = new.array


def _numbers(tensors: Any) -> tuple[int, ...]:
    found = (storage_of(x) for x in tensors if hasattr(x, "array"))
    return tuple(dict.fromkeys(s.number for s in found if s is not None))


class graph:
    """`with torch.cuda.graph(g):` work goes to a stream of its own, and into the graph."""

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None, **_: Any
    ) -> None:
        self._graph, self._stream = cuda_graph, stream

    def __enter__(self) -> None:
        synchronize()
        self._context = StreamContext(self._stream or Stream())
        self._context.__enter__()
        self._graph.capture_begin()

    def __exit__(self, *exc: Any) -> None:
        self._graph.capture_end()
        self._context.__exit__(*exc)


def is_current_stream_capturing() -> bool:
    """Whether the current stream is being captured."""
    return current_stream(here.device).capture is not None
