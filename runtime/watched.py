"""Nodes as those see them who watch: profilers and anomaly mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import anomaly, input_buffer
from .node import RUNS_FIRST, Grads, Node, thread
from .record_function import Interposer, RecordScope, begin, during, end, everyone, interposers

Validate = Callable[[Node, Grads], Grads]


class _Nested:
    """A node as the next interposer sees it: to run it is to ask the one before."""

    def __init__(self, node: Any, inner: Interposer) -> None:
        self.name, self.sequence_nr, self.thread_id = node.name, node.sequence_nr, node.thread_id
        self.apply = partial(inner.node, node, validate=None)


def _observed(node: Node, inputs: Grads, validate: Validate | None) -> Grads:
    """Run a node for those who watch: profilers and anomaly mode."""
    inner: Any = node
    for each in interposers:
        inner = _Nested(inner, each)
    name, number = node.name(), -1 if node.sequence_nr == RUNS_FIRST else node.sequence_nr
    where = tuple(inputs[: len(node.input_metadata)]), number, node.thread_id
    outer = begin(f"autograd::engine::evaluate_function: {name}", RecordScope.FUNCTION, *where)
    before, thread.node = thread.node, node
    try:
        running = begin(name, RecordScope.BACKWARD_FUNCTION, *where)
        outputs: Grads = during(running, inner.apply, inputs)
        anomaly.check_nan(node, outputs)
        return outputs if validate is None else validate(node, outputs)
    finally:
        thread.node = before
        end(outer)


everyone.node = _observed


def validated(node: Node, outputs: Grads) -> Grads:
    """Gradients in the shapes that the next nodes expect: for observers, a part of this node."""
    edges, exec_info = node.next_edges, thread.exec_info
    if len(outputs) != len(edges):
        return outputs
    for index, (target, nr) in enumerate(edges):
        grad = outputs[index]
        if grad is None or target is None or (exec_info is not None and target not in exec_info):
            continue
        if grad.array.shape != target.input_metadata[nr][0]:
            outputs[index] = input_buffer.fit(grad, target, nr, node, index)
    return outputs
