"""The loop of a backward, without anything that is rarely needed. Read this first.

    ready:  [MseLoss]   ->  [Addmm]   ->  [T] [Tanh]   ->  ...

A node runs once gradients have come in over all edges that lead to it. Of the nodes that are ready
the one made last in forward (with the greatest sequence number) runs first, and AccumulateGrad,
which adds to a leaf's `.grad`, before all others. Nothing here recurses over the graph.
"""

from __future__ import annotations

from heapq import heappop, heappush

from ..observe.arrangement import active
from . import input_buffer
from .graph_task import GraphTask
from .node import Grads, Node
from .tensor import AccumulateGrad


def run_plain(  # noqa: PLR0912  (one loop)
    task: GraphTask, node: Node, inputs: Grads
) -> tuple[Node, Grads] | None:
    """Run `node` on its gradients `inputs`, then all that follow from it.

    Where a node has hooks or an observer is there, it ends early and returns that node and its
    gradients: from there on the loop of `full_loop.py` is needed.
    """
    dependencies, buffers, ready = task.dependencies, task.buffers, task.ready
    while node.hooks is None and not active:
        task.node = node
        outputs = node.apply(inputs)
        if not task.keep_graph:
            node.release_variables()
        inputs = []  # so that a gradient that is passed on has one owner
        if len(outputs) != len(node.next_edges):
            outputs = input_buffer.right_length(node, outputs)
        for (target, nr), grad in zip(node.next_edges, outputs):  # noqa: B905  (checked above)
            if target is None:
                continue
            if grad is not None:
                shape, dtype = target.input_metadata[nr]
                if grad.array.shape != shape or grad.array.dtype is not dtype:
                    grad = input_buffer.fit(grad, target, nr, node, outputs)  # noqa: PLW2901
            left = dependencies[target] = dependencies[target] - 1
            buffer = buffers.pop(target, None)
            if buffer is None:
                leaf = target.hooks is None and target.__class__ is AccumulateGrad
                if leaf and left == 0 and not active:  # it would be next in any case
                    target.add(grad)  # type: ignore[attr-defined]
                    continue
                buffer = [None] * len(target.input_metadata)
            if buffer[nr] is None:
                buffer[nr] = grad
            elif grad is not None:
                input_buffer.add(buffer, target, nr, grad, task.owned, node)
            if left:
                buffers[target] = buffer  # it waits for the rest of its gradients
            else:
                heappush(ready, (-target.sequence_nr, next(task.arrivals), target, buffer))
        grad = outputs = None  # type: ignore[assignment]  # now they are the buffers' alone
        if not ready:
            return None
        _, _, node, inputs = heappop(ready)
    return node, inputs
