"""The loop of a backward with all that it can do; `plain_loop.py` has its idea.

    device      the stream of the node's forward becomes the current one
    trimming    capture what `grad()` is to return, and leave out what leads nowhere
    evaluate    hooks before, the node in the sight of observers, hooks after
    pass_on     gradients in the shapes that their targets expect, summed in the targets' buffers;
                a target whose last edge this was is ready

Source: torch/csrc/autograd/engine.cpp.
"""

from __future__ import annotations

from heapq import heappop, heappush

from ..observe.arrangement import active
from ..observe.watched_nodes import validated
from . import input_buffer
from .graph_task import GraphTask
from .hooks import call_all
from .node import Grads, Node
from .tensor import AccumulateGrad


def run_full(task: GraphTask, node: Node, inputs: Grads) -> None:
    """Run `node` on its gradients `inputs`, then all that follow from it."""
    while True:
        task.node = node
        if task.device is not None:
            task.device.enter(node)
        if task.exec_info is None or task.wants(node, inputs):
            watched = active or node.hooks is not None
            outputs = _evaluate(node, inputs) if watched else node.apply(inputs)
            if not task.keep_graph:
                node.release_variables()
            inputs = []  # so that a gradient that is passed on has one owner
            if len(outputs) != len(node.next_edges):
                outputs = input_buffer.right_length(node, outputs)
            if outputs:
                _pass_on(task, node, outputs)
                outputs = []
        if not task.ready:
            return
        _, _, node, inputs = heappop(task.ready)


def _evaluate(node: Node, inputs: Grads) -> Grads:
    """The gradients that a node gives, in the sight of hooks and observers."""
    hooks = node.hooks
    if hooks is not None:
        inputs = call_all(hooks.pre, hooks.call_tensor_pre(inputs))
    if active:
        several = hooks is None and len(node.next_edges) > 1
        outputs: Grads = active[0].node(node, inputs, validated if several else None)
    else:
        outputs = node.apply(inputs)
    if hooks is not None:
        outputs = call_all(hooks.post, outputs, tuple(inputs))
    return outputs


def _pass_on(task: GraphTask, node: Node, outputs: Grads) -> None:
    """Give the gradients to their targets; one that now has all of its gradients is ready."""
    exec_info, device, dependencies = task.exec_info, task.device, task.dependencies
    for (target, nr), grad in zip(node.next_edges, outputs):  # noqa: B905  (checked before)
        if target is None or (exec_info is not None and target not in exec_info):
            continue
        if grad is not None:
            shape, dtype = target.input_metadata[nr]
            if grad.array.shape != shape or grad.array.dtype is not dtype:
                grad = input_buffer.fit(grad, target, nr, node, outputs)  # noqa: PLW2901
            if device is not None:
                device.pass_on(node, target, grad)
        left = dependencies[target] = dependencies[target] - 1
        buffer = task.buffers.pop(target, None)
        if buffer is None:
            leaf = target.hooks is None and target.__class__ is AccumulateGrad
            if leaf and left == 0 and exec_info is None and device is None:
                alone, grad = [grad], None  # noqa: PLW2901
                _evaluate(target, alone)  # it would be next in any case
                continue
            buffer = [None] * len(target.input_metadata)
        if buffer[nr] is None:
            buffer[nr] = grad
        elif grad is not None:
            input_buffer.add(buffer, target, nr, grad, task.owned, node)
        if left:
            task.buffers[target] = buffer
        else:
            entry = (-target.sequence_nr, next(task.arrivals), target, buffer)
            heappush(task.ready, entry)
