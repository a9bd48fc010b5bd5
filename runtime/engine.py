"""The engine: walks the graph backwards from the outputs, each node once all its gradients are in.

    ready:  [MseLoss]   ->  [Addmm]   ->  [T] [Tanh]   ->  ...
    deps:   how many edges into a node are still open; at 0 it is ready
    buffers: the gradients that wait for a node's other edges

A GraphTask is one backward. The ready nodes run in order of their sequence numbers, greatest
(newest) first, and AccumulateGrad before all. For `grad(outputs, inputs)` a task also has
exec_info, with the nodes on a path to the inputs; the others are not run, and a node on the path
does not compute gradients for edges that leave it (`Node.task_should_compute_output`).

Nothing here recurses over the graph. A backward inside a backward runs as a nested call, and past
`MAX_DEPTH` of those, on a fresh thread.

Source: torch/csrc/autograd/engine.cpp, graph_task.h.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from . import anomaly, input_buffer
from .grad_mode import _grad
from .node import RUNS_FIRST, Edge, Grads, GraphRoot, Node, thread
from .record_function import RecordScope, active, begin, end
from .tensor import AccumulateGrad, Tensor, bump_version, wrap

MAX_DEPTH = 60
TRIM = True  # a switch for benchmarks: whether nodes skip the edges that a task does not need

_accumulating = threading.Lock()


class ExecInfo:
    """What a task wants of one node: run it, and / or keep some of its inputs."""

    __slots__ = ("captures", "needed")

    def __init__(self) -> None:
        self.needed = False
        self.captures: list[tuple[int, int]] = []  # (input number, place in the result)


class GraphTask:
    """One backward: its graph, and how far it is."""

    __slots__ = (
        "buffers",
        "captured",
        "create_graph",
        "dependencies",
        "exec_info",
        "keep_graph",
        "owned",
    )

    def __init__(self, root: Node, keep_graph: bool, create_graph: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.buffers: dict[Node, Grads] = {}
        self.owned: input_buffer.Owned = {}
        self.captured: Grads = []
        self.exec_info: dict[Node, ExecInfo] | None = None
        self.dependencies = dependencies = dict[Node, int]()
        stack = [root]
        while stack:
            for node, _ in stack.pop().next_edges:
                if node is None:
                    continue
                if node in dependencies:
                    dependencies[node] += 1
                else:
                    dependencies[node] = 1
                    stack.append(node)

    def trim(self, root: Node, outputs: Sequence[Edge], accumulate: bool) -> None:
        """Keep only what lies on a path from the root to `outputs`.

        With `accumulate` those nodes are run, else the gradients that reach them are captured.
        """
        info: dict[Node, ExecInfo] = {}
        self.captured = [None] * len(outputs)
        for place, (node, nr) in enumerate(outputs):
            if node is not None:
                wanted = info.setdefault(node, ExecInfo())
                if accumulate:
                    wanted.needed = True
                else:
                    wanted.captures.append((nr, place))
        open_edges = dict(self.dependencies)
        order = [root]
        for node in order:  # grows: each node once all nodes before it are in
            for child, _ in node.next_edges:
                if child is not None:
                    open_edges[child] -= 1
                    if open_edges[child] == 0:
                        order.append(child)
        for node in reversed(order):
            if any(child in info for child, _ in node.next_edges):
                info.setdefault(node, ExecInfo()).needed = True
        self.exec_info = info


def execute(
    roots: Sequence[Edge],
    grads: Grads,
    keep_graph: bool,
    create_graph: bool,
    outputs: Sequence[Edge] = (),
    accumulate_grad: bool = True,
) -> Grads:
    """Run a backward from `roots`, each with its gradient.

    Args:
        outputs: only these edges' gradients are wanted; empty is all leaves'.
        accumulate_grad: add them to the leaves' `.grad`, rather than returning them.

    Returns:
        The gradients for `outputs` (empty if they were accumulated); None where none arrived.
    """
    if thread.depth >= MAX_DEPTH:
        return _on_fresh_thread(roots, grads, keep_graph, create_graph, outputs, accumulate_grad)
    root: Node
    inputs: Grads
    if len(roots) == 1 and roots[0][0] is not None:
        root, nr = roots[0][0], roots[0][1]
        inputs = [None] * len(root.input_metadata)
        inputs[nr] = grads[0]
    else:
        root, inputs = GraphRoot(roots, grads), []
    task = GraphTask(root, keep_graph, create_graph)
    if outputs:
        task.trim(root, outputs, accumulate_grad)
    before, token = thread.exec_info, _grad.set(create_graph)
    thread.exec_info = task.exec_info if TRIM else None  # type: ignore[assignment]
    thread.depth += 1
    try:
        _run(task, root, inputs)
    finally:
        thread.depth -= 1
        thread.exec_info = before
        _grad.reset(token)
    return [] if accumulate_grad else task.captured


def _run(task: GraphTask, node: Node, inputs: Grads) -> None:  # noqa: PLR0912, PLR0915  (one loop)
    """The loop. `node` is the one being run, `inputs` what arrived for it."""
    dependencies, buffers, owned = task.dependencies, task.buffers, task.owned
    exec_info, keep_graph = task.exec_info, task.keep_graph
    ready: list[tuple[int, int, Node, Grads]] = []
    count = 0  # breaks ties: first come, first served
    try:
        while True:
            hooks = node.hooks
            if exec_info is None or _wanted(task, node, inputs):
                if hooks is not None:
                    inputs = hooks.call_pre(hooks.call_tensor_pre(inputs))
                outputs = _observed(node, inputs) if active else node.apply(inputs)
                if hooks is not None and hooks.post:
                    outputs = hooks.call_post(outputs, inputs)
                if not keep_graph:
                    node.release_variables()
                edges = node.next_edges
                if len(outputs) != len(edges):
                    outputs = _right_length(node, outputs)
                inputs = []  # so that a gradient passed on has one owner
                index = -1
                for (target, nr), grad in zip(edges, outputs):  # noqa: B905  (checked above)
                    index += 1
                    if target is None or (exec_info is not None and target not in exec_info):
                        continue
                    if grad is not None:
                        shape, dtype = target.input_metadata[nr]
                        if grad.array.shape != shape or grad.array.dtype is not dtype:
                            grad = input_buffer.fit(grad, target, nr, node, index)  # noqa: PLW2901
                    left = dependencies[target] - 1
                    dependencies[target] = left
                    buffer = buffers.get(target)
                    if buffer is None:
                        if (
                            left == 0
                            and target.sequence_nr == RUNS_FIRST
                            and target.hooks is None
                            and exec_info is None
                            and not active
                        ):
                            if grad is not None:
                                _accumulate(target, grad)  # it would be next in any case
                            continue
                        buffer = [None] * len(target.input_metadata)
                        if left:
                            buffers[target] = buffer
                    elif left == 0:
                        del buffers[target]
                    if grad is not None:
                        if buffer[nr] is None:
                            buffer[nr] = grad
                        else:
                            input_buffer.add(buffer, target, nr, grad, owned)
                    if left == 0:
                        heappush(ready, (-target.sequence_nr, count, target, buffer))
                        count += 1
                grad = outputs = buffer = None  # type: ignore[assignment]
            if not ready:
                return
            _, _, node, inputs = heappop(ready)
    except BaseException as error:
        _name_the_node(node, error)
        raise


def _wanted(task: GraphTask, node: Node, inputs: Grads) -> bool:
    """Keep what the task wants of these inputs; say whether to run the node.

    Tensor hooks run once: before the capture if the node itself is not run, else after it.
    """
    assert task.exec_info is not None
    info = task.exec_info.get(node)
    if info is None:
        return isinstance(node, GraphRoot)
    if not info.needed and node.hooks is not None:
        inputs = node.hooks.call_tensor_pre(inputs)
    for nr, place in info.captures:
        task.captured[place] = inputs[nr]
    return info.needed


def _observed(node: Node, inputs: Grads) -> Grads:
    """Run a node for those who watch: profilers and anomaly mode."""
    name = node.name()
    number = -1 if node.sequence_nr == RUNS_FIRST else node.sequence_nr
    origin = node.__dict__.get("thread_id", 0)
    shown = tuple(inputs)
    outer = begin(
        f"autograd::engine::evaluate_function: {name}", RecordScope.FUNCTION, shown, number, origin
    )
    before, thread.node = thread.node, node
    try:
        inner = begin(name, RecordScope.BACKWARD_FUNCTION, shown, number, origin)
        try:
            outputs = node.apply(inputs)
        finally:
            end(inner)
        anomaly.check_nan(node, outputs)
        return outputs
    finally:
        thread.node = before
        end(outer)


def _right_length(node: Node, outputs: Grads) -> Grads:
    """As many gradients as edges: None may be left over at the end."""
    wanted = len(node.next_edges)
    if len(outputs) < wanted or any(g is not None for g in outputs[wanted:]):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid number of gradients - "
            f"expected {wanted}, but got {len(outputs)}"
        )
    return outputs[:wanted]


def _name_the_node(node: Node, error: BaseException) -> None:
    """Say which node failed; the exception and its traceback stay what they are."""
    named = error.__dict__.setdefault("_tidy_nodes", [])
    if not named and hasattr(error, "add_note"):
        error.add_note(f"in the backward of {node.name()} (sequence_nr {node.sequence_nr})")
    named.append(node.name())
    if anomaly.is_anomaly_enabled() and len(named) == 1:
        anomaly.explain(node)


def _on_fresh_thread(*args: object) -> Grads:
    """`execute`, on a stack of its own."""
    context = contextvars.copy_context()
    result: list[Grads] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            result.append(context.run(execute, *args))  # type: ignore[arg-type]
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=work, name="tidy-reentrant-backward")
    worker.start()
    worker.join()
    if failed:
        raise failed[0]
    return result[0]


# How a gradient reaches a leaf.


def accumulate(node: AccumulateGrad, grads: Grads) -> None:
    """AccumulateGrad's work, from a buffer."""
    grad = grads[0]
    if grad is not None:
        grads[0] = None
        _accumulate(node, grad)


def _accumulate(node: Node, grad: Tensor) -> None:
    """Add `grad` to the leaf's `.grad`; take it over as it is where nobody else can see it."""
    variable: Tensor = node.variable  # type: ignore[attr-defined]
    recording = _grad.get()
    with _accumulating:
        old = variable._grad
        if old is None:
            if recording:
                variable._grad = grad.clone()
            elif (
                sys.getrefcount(grad) <= _SOLE_TENSOR
                and grad.array.strides == variable.array.strides
                and _sole_owner(grad)
            ):
                variable._grad = grad
            else:
                copy = np.empty_like(variable.array)
                copy[...] = grad.array
                variable._grad = wrap(copy)
        elif recording:
            variable._grad = old + grad
        else:
            np.add(old.array, grad.array, out=old.array)
            bump_version(old)
    if variable._post_accumulate is not None:
        for hook in list(variable._post_accumulate.values()):
            hook(variable)


def _sole_owner(grad: Tensor) -> bool:
    """Whether no other array sees this memory."""
    if not grad._counter or grad._rg:
        return False
    array = grad.array
    if sys.getrefcount(array) > _SOLE_ARRAY:
        return False
    base = array.base
    if base is None:
        return True
    return (
        isinstance(base, np.ndarray) and sys.getrefcount(base) <= _SOLE_ARRAY and base.base is None
    )


def _references() -> tuple[int, int]:
    """How many references Python shows for a tensor, and an array, that has a single owner."""

    def tensor_count(grad: Tensor) -> int:
        return sys.getrefcount(grad)

    def array_count(grad: Tensor) -> int:
        array = grad.array
        return sys.getrefcount(array)

    outputs = [wrap(np.zeros(1))]
    for _, grad in zip((0,), outputs):  # noqa: B905
        return tensor_count(grad), array_count(grad)
    raise AssertionError


_SOLE_TENSOR, _SOLE_ARRAY = _references()
