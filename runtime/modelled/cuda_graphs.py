"""CUDA graphs in the simple form: operators on one stream are taken up, and run again at once.

    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        static_output = model(static_input)
    static_input.copy_(batch)
    g.replay()

A replay computes anew into the same tensors and costs the host one launch. It repeats operators
alone, neither Python's own work nor what the host reads. Source: torch/cuda/graphs.py.
"""

from __future__ import annotations

from typing import Any

from ..core.storage import storage_of
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.node import Node
from ..engine.tensor import wrap
from ..ops.make.op_node import OpNode
from . import activity, clock
from .activity import correlations, log_call
from .current_device import StreamContext
from .kernel_launch import log_kernel
from .operands import tensors_in
from .stream_timelines import Capture, CapturedOperator
from .streams import Stream, current_stream, here, synchronize

_NODE_GAP_NS = 500  # from one kernel of a graph to the next
_ON_DEFAULT = (
    "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to "
    "replay them on the default stream.)"
)


class CUDAGraph:
    """Operators that were taken up, and their kernels."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture = Capture()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Take up what the current stream, not the default one, is given from now on."""
        stream = current_stream(here.device)
        check(not stream.is_default, _ON_DEFAULT)
        check(stream.capture is None, "CUDA error: the stream is being captured already")
        self.reset()
        self._capture.join(stream)

    def capture_end(self) -> None:
        """Take up nothing more; RuntimeError if no capture has begun."""
        check(bool(self._capture.streams), "capture_end() without a capture_begin()")
        self._capture.end()

    def reset(self) -> None:
        """Forget what was taken up."""
        self._capture.plans, self._capture.operators = [], []

    def pool(self) -> tuple[int, int]:
        """Return a name for the graph's memory, which is the allocator's as all other memory is."""
        return id(self), 0

    def replay(self) -> None:
        """Run everything again, on the current stream."""
        stream = current_stream(here.device)
        with clock.stretch:
            for operator in self._capture.operators:
                _run_again(operator)
            clock.stretch.cost_ns = self._launch(stream)

    def _launch(self, stream: Stream) -> int:
        """Launch all kernels by one call; returns what that takes the host, in ns."""
        host = clock.now_ns()
        after = stream.owner.launched(host)
        correlation = next(correlations)
        reads = _storage_numbers(x for each in self._capture.operators for x in each.args)
        writes = _storage_numbers(x for each in self._capture.operators for x in each.outs)
        ready = after
        for number, plan in enumerate(self._capture.plans, 1):
            span = stream.owner.run(stream, ready, plan.duration_ns)
            ready = span[1] - stream.owner.spec.start_latency_ns + _NODE_GAP_NS
            if activity.logs:
                node = {"graph id": 1, "graph node id": number}
                log_kernel(plan, span, stream, correlation, reads, writes, node)
        if activity.logs:
            log_call("cudaGraphLaunch", host, after, correlation)
        return after - host


def _run_again(operator: CapturedOperator) -> None:
    with no_grad():
        results = operator.inner(*operator.args, **operator.kwargs)
    for old, new in zip(operator.outs, tensors_in((results,)), strict=True):
        if old.array is not new.array:
            old.array[...] = new.array


def _storage_numbers(values: Any) -> tuple[int, ...]:
    """The numbers of the storages of the tensors among `values`, each once."""
    storages = (storage_of(x) for x in values if hasattr(x, "array"))
    return tuple(dict.fromkeys(s.number for s in storages if s is not None))


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
    """Tell whether the current stream is being captured."""
    return current_stream(here.device).capture is not None


def keep(node: Node) -> None:
    """Have a node keep what is saved in it, because a replay reads what is there by then.

    Backward frees nothing of it, and no version is checked: static inputs are written to.
    """
    if not isinstance(node, OpNode):
        return
    for name in node.tensors:
        setattr(node, f"s_{name}", _without_version(getattr(node, f"s_{name}")))
    vars(node)["release_variables"] = lambda: None


def _without_version(saved: Any) -> Any:
    """A saved input or result; see op_node.py."""
    if saved.__class__ is not tuple:
        return saved
    if len(saved) == 2:  # an input, else a result
        return (wrap(saved[0].array), 0)
    return (saved[0], [0], 0)
