"""Nodes as those see them who watch: profilers and anomaly mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import anomaly, input_buffer
from .node import RUNS_FIRST, Grads, Node, thread
from .record_function import RecordScope, begin, during, end, everyone, interposers

Validate = Callable[[Node, Grads], Grads]


class _Nested:
    """A node as an interposer sees it: to run it is to ask the one before."""

    def __init__(self, node: Any, apply: Callable[[Grads], Grads]) -> None:
        self._node, self.apply = node, apply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


def _observed(node: Node, inputs: Grads, validate: Validate | None) -> Grads:
    """Run a node for those who watch: profilers and anomaly mode."""
    name, number = node.name(), -1 if node.sequence_nr == RUNS_FIRST else node.sequence_nr
    where = tuple(inputs[: len(node.input_metadata)]), number, node.thread_id
    # Each interposer sees the whole, what the engine adds too; for the second there is nothing
    # left of that to do.
    fit = None if validate is None else lambda _, outputs: validate(node, outputs)

    def run(grads: Grads) -> Grads:
        running = begin(name, RecordScope.BACKWARD_FUNCTION, *where)
        outputs: Grads = during(running, node.apply, grads)
        anomaly.check_nan(node, outputs)
        return outputs

    inner: Any = _Nested(node, run)
    for each in interposers:
        inner = _Nested(node, partial(each.node, inner, validate=fit))
    outer = begin(f"autograd::engine::evaluate_function: {name}", RecordScope.FUNCTION, *where)
    before, thread.node = thread.node, node
    try:
        outputs: Grads = inner.apply(inputs)
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
