"""The graph: nodes, and edges from each to the nodes that take its gradients on.

An edge is a pair (function, input_nr): the gradient goes to that node, as its input of that number.
A node's inputs in backward are its operator's outputs in forward, hence `input_metadata`, one
(shape, dtype) per output. Sequence numbers grow with time in each thread; the engine runs the
greatest first. Source: torch/csrc/autograd/function.h, edge.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.thread_state import thread
from .hooks import Hook, NodeHooks, RemovableHandle, register

if TYPE_CHECKING:
    from .tensor import Tensor

Edge = tuple["Node | None", int]
Metadata = Sequence[tuple[tuple[int, ...], "np.dtype[Any]"]]
Grads = list["Tensor | None"]


class GradientEdge(NamedTuple):
    """An edge, for users; `grad` and `backward` take it for the tensor that it is of."""

    node: Node
    output_nr: int


NO_EDGE: Edge = (None, 0)
RUNS_FIRST = 2**64 - 1  # the sequence number of AccumulateGrad
SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Specify retain_graph=True in the first backward to keep them."
)


class Node:
    __slots__ = ("__dict__", "__weakref__", "hooks", "input_metadata", "next_edges", "sequence_nr")

    thread_id = 0  # of the thread that made it, where an observer has noted that
    stream: Any = None  # of the device that its forward ran on

    def __init__(self, next_edges: Sequence[Edge], input_metadata: Metadata = ()) -> None:
        self.next_edges, self.input_metadata = next_edges, input_metadata
        self.hooks: NodeHooks | None = None
        self.sequence_nr = thread.sequence_nr
        thread.sequence_nr += 1

    def apply(self, grads: Grads) -> Grads:
        """Return the gradients for `next_edges`, from those for this node's outputs."""
        raise NotImplementedError

    def release_variables(self) -> None:
        """Drop what was saved for backward."""

    def name(self) -> str:
        return type(self).__name__

    next_functions = property(lambda self: tuple(self.next_edges))

    @property
    def metadata(self) -> dict[str, Any]:
        """Anything a user wants to note on a node; anomaly mode writes here."""
        return self.__dict__.setdefault("_metadata", {})

    def task_should_compute_output(self, index: int) -> bool:
        """Tell whether the running graph task has a use for the gradient of edge `index`."""
        node, exec_info = self.next_edges[index][0], thread.exec_info
        return node is not None and (exec_info is None or node in exec_info)

    def own_hooks(self) -> NodeHooks:
        self.hooks = self.hooks or NodeHooks()
        return self.hooks

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """`hook(grad_outputs)` runs before the node; what it returns replaces them."""
        return register(self.own_hooks().pre, hook)

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(grad_inputs, grad_outputs)` runs after the node; its result replaces the first."""
        return register(self.own_hooks().post, hook)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class GraphRoot(Node):
    """Where a backward of several outputs starts: what it is given goes to them."""

    __slots__ = ()

    def apply(self, grads: Grads) -> Grads:
        return grads
