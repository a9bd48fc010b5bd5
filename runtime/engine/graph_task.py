"""A graph task: the state of one backward, which both loops work on.

Source: torch/csrc/autograd/graph_task.h, engine.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from ..accelerator import Accelerator
from .input_buffer import Owned
from .node import Edge, Grads, GraphRoot, Node


class GraphTask:
    """One backward.

        dependencies   by node: how many edges into it are still open
        buffers        by node: the gradients that wait until its last edge is in
        ready          a heap of (-sequence_nr, order of arrival, node, its gradients)

    For `grad(outputs, inputs)` there is also `exec_info`, with the nodes on a path to the inputs
    and whether to run them. Other nodes are not run, and a node on the path does not compute
    gradients for edges that leave it (`Node.task_should_compute_output`).
    """

    def __init__(self, root: Node, keep_graph: bool, device: Accelerator | None) -> None:
        self.keep_graph, self.device = keep_graph, device
        self.node = root  # the one that is being run
        self.exec_info: dict[Node, bool] | None = None  # None: every node is run
        self.captures: dict[Node, list[tuple[int, int]]] = {}  # node: (input, place in the result)
        self.captured: Grads = []
        self.callbacks: list[Callable[[], object]] = []  # for the end
        self.buffers: dict[Node, Grads] = {}
        self.owned = Owned()
        self.ready: list[tuple[int, int, Node, Grads]] = []
        self.arrivals = count()
        self.dependencies = dependencies = dict[Node, int]()
        stack = [root]
        while stack:
            for node, _ in stack.pop().next_edges:
                if node in dependencies:
                    dependencies[node] += 1
                elif node is not None:
                    dependencies[node] = 1
                    stack.append(node)

    def trim(self, root: Node, outputs: Sequence[Edge], accumulate: bool) -> None:
        """Keep only what lies on a path to `outputs`, which are run or else captured."""
        self.exec_info = info = {node: accumulate for node, _ in outputs if node is not None}
        self.captured = [None] * len(outputs)
        for place, (node, nr) in enumerate(outputs):
            if node is not None and not accumulate:
                self.captures.setdefault(node, []).append((nr, place))
        open_edges, order = self.dependencies.copy(), [root]
        for node in order:  # grows: each node once all nodes before it are in
            for child, _ in node.next_edges:
                if child is not None:
                    open_edges[child] -= 1
                    if open_edges[child] == 0:
                        order.append(child)
        for node in reversed(order):
            if any(child in info for child, _ in node.next_edges):
                info[node] = True

    def will_run(self, node: Node) -> bool:
        """Return whether the node is run, or its gradients captured, in this backward."""
        return node in (self.dependencies if self.exec_info is None else self.exec_info)

    def wants(self, node: Node, inputs: Grads) -> bool:
        """Capture what is wanted of a node's gradients; say whether to run the node."""
        assert self.exec_info is not None
        needed = self.exec_info.get(node, isinstance(node, GraphRoot))
        if not needed and node.hooks is not None:  # of one that is run, they come after the capture
            inputs = node.hooks.call_tensor_pre(inputs)
        for nr, place in self.captures.get(node, ()):
            self.captured[place] = inputs[nr]
            if self.device is not None:
                self.device.captured(node)
        return needed
