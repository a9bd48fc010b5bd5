"""A node of a backward as `everyone` sees it: callbacks, interposers and anomaly mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.thread_state import thread
from ..engine import anomaly, input_buffer
from ..engine.node import RUNS_FIRST, Grads, Node
from .arrangement import everyone, interposers
from .callbacks import begin, end
from .record import RecordScope


class _Nested:
    """A node as an interposer sees it, whose `apply` asks the interposer before."""

    def __init__(self, node: Any, apply: Callable[[Grads], Grads]) -> None:
        self._node, self.apply = node, apply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


def _observed(node: Node, inputs: Grads, validate: Callable[[Node, Grads], Grads] | None) -> Grads:
    """Run a node in the sight of all observers."""
    name, number = node.name(), -1 if node.sequence_nr == RUNS_FIRST else node.sequence_nr
    where = tuple(inputs[: len(node.input_metadata)]), number, node.thread_id
    is_fit = False

    def fit(_: Node, outputs: Grads) -> Grads:
        nonlocal is_fit
        if not is_fit:  # each interposer asks within its own call: the innermost is the first
            is_fit = True
            outputs = outputs if validate is None else validate(node, outputs)
            anomaly.check_nan(node, outputs)
        return outputs

    def run(grads: Grads) -> Grads:
        running = begin(name, RecordScope.BACKWARD_FUNCTION, *where)
        try:
            return node.apply(grads)
        finally:
            end(running)

    inner: Any = _Nested(node, run)
    for each in interposers:
        inner = _Nested(node, partial(each.node, inner, validate=fit))
    outer = begin(f"autograd::engine::evaluate_function: {name}", RecordScope.FUNCTION, *where)
    before, thread.node = thread.node, node
    try:
        return fit(node, inner.apply(inputs))
    finally:
        thread.node = before
        end(outer)


everyone.node = _observed


def validated(node: Node, outputs: Grads) -> Grads:
    """Sum gradients down to the shapes that the next nodes expect.

    The engine does this in any case; done here, observers see it as a part of the node.
    """
    edges, exec_info = node.next_edges, thread.exec_info
    if len(outputs) != len(edges):
        return outputs
    for index, (target, nr) in enumerate(edges):
        grad = outputs[index]
        if grad is None or target is None or (exec_info is not None and target not in exec_info):
            continue
        if grad.array.shape != target.input_metadata[nr][0]:
            outputs[index] = input_buffer.fit(grad, target, nr, node, outputs)
    return outputs
