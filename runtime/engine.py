"""The engine: walks the graph backwards from the outputs, each node once all its gradients are in.

    ready:  [MseLoss]   ->  [Addmm]   ->  [T] [Tanh]   ->  ...
    dependencies: how many edges into a node are still open; at 0 it is ready
    buffers: the gradients that wait for a node's other edges

A GraphTask is one backward. The ready nodes run in order of their sequence numbers, greatest
(newest) first, and AccumulateGrad before all. For `grad(outputs, inputs)` a task also has
exec_info, with the nodes on a path to the inputs; the others are not run, and a node on the path
does not compute gradients for edges that leave it (`Node.task_should_compute_output`).

Nothing here recurses over the graph. A backward inside a backward runs as a nested call, and past
`MAX_DEPTH` of those, on a fresh thread. Source: torch/csrc/autograd/engine.cpp, graph_task.h.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from heapq import heappop, heappush, heappushpop
from typing import TYPE_CHECKING, Any

from . import anomaly, input_buffer
from .grad_mode import _grad
from .hooks import call_all
from .node import Edge, Grads, GraphRoot, Node, thread
from .record_function import active
from .storage import accelerator
from .tensor import AccumulateGrad
from .watched import validated

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_DEPTH = 60
_NO_DEVICE = nullcontext()
TRIM = True  # a switch for benchmarks: whether nodes skip the edges that a task does not need


class GraphTask:
    def __init__(self, root: Node, keep_graph: bool) -> None:
        self.keep_graph = keep_graph
        self.exec_info: dict[Node, bool] | None = None  # node: whether to run it; None is all
        self.captures: dict[Node, list[tuple[int, int]]] = {}  # node: (input, place in the result)
        self.captured: Grads = []
        self.callbacks: list[Callable[[], object]] = []  # for the end
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

    def wants(self, node: Node, inputs: Grads) -> bool:
        """Capture what is wanted of these inputs; say whether to run the node."""
        assert self.exec_info is not None
        needed = self.exec_info.get(node, isinstance(node, GraphRoot))
        if not needed and node.hooks is not None:
            inputs = node.hooks.call_tensor_pre(inputs)  # else run() does, after the capture
        for nr, place in self.captures.get(node, ()):
            self.captured[place] = inputs[nr]
            if accelerator:
                accelerator[0].captured(node)
        return needed

    def run(self, node: Node, inputs: Grads) -> None:  # noqa: PLR0912, PLR0915  (one loop)
        """The loop. `node` is the one being run, `inputs` what arrived for it."""
        dependencies, exec_info, keep_graph = self.dependencies, self.exec_info, self.keep_graph
        buffers: dict[Node, Grads] = {}
        owned = input_buffer.Owned()
        ready: list[Any] = []  # (minus the sequence number, which came first, node, inputs)
        count = 0
        try:
            while True:
                hooks = node.hooks
                following: Node | None = None  # the first that is ready; the heap is for others
                if accelerator:
                    accelerator[0].enter(node)
                if exec_info is None or self.wants(node, inputs):
                    if hooks is not None:
                        inputs = call_all(hooks.pre, hooks.call_tensor_pre(inputs))
                    if active:
                        many = hooks is None and len(node.next_edges) > 1
                        outputs = active[0].node(node, inputs, validated if many else None)
                    else:
                        outputs = node.apply(inputs)
                    if hooks is not None:
                        outputs = call_all(hooks.post, outputs, tuple(inputs))
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
                            if accelerator:
                                accelerator[0].pass_on(node, target, grad)
                        left = dependencies[target] - 1
                        buffer = buffers.get(target) if buffers else None
                        if buffer is None:
                            if (
                                left == 0
                                and target.__class__ is AccumulateGrad
                                and exec_info is None
                                and target.hooks is None
                                and not accelerator
                            ):  # it would be next in any case
                                if active:
                                    gradient, grad = [grad], None  # noqa: PLW2901
                                    active[0].node(target, gradient, None)
                                elif grad is not None:
                                    target.add(grad)
                                continue
                            buffer = [None] * len(target.input_metadata)
                        if grad is not None:
                            if buffer[nr] is None:
                                buffer[nr] = grad
                            else:
                                input_buffer.add(buffer, target, nr, grad, owned, node)
                        if left:
                            dependencies[target] = left
                            buffers[target] = buffer
                            continue
                        if buffers:
                            buffers.pop(target, None)
                        if following is None:
                            following, arrived, place = target, buffer, count
                        else:
                            heappush(ready, (-target.sequence_nr, count, target, buffer))
                        count += 1
                    grad = outputs = buffer = None
                if following is None:
                    if not ready:
                        return
                    _, _, node, inputs = heappop(ready)
                elif ready:
                    first = (-following.sequence_nr, place, following, arrived)
                    _, _, node, inputs = heappushpop(ready, first)
                    first = arrived = None  # type: ignore[assignment]
                else:
                    node, inputs = following, arrived
                    arrived = None  # type: ignore[assignment]
        except BaseException as error:
            _name_the_node(node, error)
            raise


def execute(
    roots: Sequence[Edge],
    grads: Grads,
    keep_graph: bool,
    create_graph: bool,
    outputs: Sequence[Edge] = (),
    accumulate_grad: bool = True,
) -> Grads:
    """Run a backward from `roots`, each with its gradient.

    With `outputs` only these edges' gradients are wanted. They are added to the leaves' `.grad`, or
    else (`accumulate_grad=False`) returned; None where none arrived.
    """
    rest = (keep_graph, create_graph, outputs, accumulate_grad)
    if thread.depth >= MAX_DEPTH:
        return in_background(execute, roots, grads, *rest).result()
    if active:
        return active[0].backward(_execute, roots, grads, *rest)
    return _execute(roots, grads, *rest)


def _execute(roots: Sequence[Edge], grads: Grads, *rest: Any) -> Grads:
    keep_graph, create_graph, outputs, accumulate_grad = rest
    root, nr = roots[0]
    if root is not None and len(roots) == 1:
        inputs: Grads = [None] * len(root.input_metadata)
        inputs[nr] = grads[0]
    else:
        root, inputs = GraphRoot(roots), grads
    task = GraphTask(root, keep_graph)
    if outputs:
        task.trim(root, outputs, accumulate_grad)
    before, token = (thread.exec_info, thread.callbacks), _grad.set(create_graph)
    thread.exec_info, thread.callbacks = task.exec_info if TRIM else None, task.callbacks
    thread.depth += 1
    try:
        with accelerator[0].backward(roots, grads) if accelerator else _NO_DEVICE:
            task.run(root, inputs)
        for callback in task.callbacks:  # they may queue more
            callback()
    finally:
        thread.depth -= 1
        thread.exec_info, thread.callbacks = before
        _grad.reset(token)
    return [] if accumulate_grad else task.captured


def queue_callback(callback: Callable[[], object]) -> None:
    """Have it called at the end of the backward that is running."""
    if thread.callbacks is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    thread.callbacks.append(callback)


def _right_length(node: Node, outputs: Grads) -> Grads:
    """As many gradients as edges: None may be left over at the end."""
    wanted, got = len(node.next_edges), len(outputs)
    if got < wanted or any(g is not None for g in outputs[wanted:]):
        what = f"an invalid number of gradients - expected {wanted}, but got {got}"
        raise RuntimeError(f"Function {node.name()} returned {what}")
    return outputs[:wanted]


def _name_the_node(node: Node, error: BaseException) -> None:
    """Say which node failed; the exception and its traceback stay what they are."""
    if "_tidy_node" in vars(error):
        return  # a backward inside this one has said it
    vars(error)["_tidy_node"] = node.name()
    if hasattr(error, "add_note"):
        error.add_note(f"in the backward of {node.name()} (sequence_nr {node.sequence_nr})")
    if anomaly.is_anomaly_enabled():
        anomaly.explain(node)


def in_background(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """`function(*args, **kwargs)` on a thread of its own, in a copy of the caller's modes."""
    from concurrent.futures import Future  # brings logging along

    future, context = Future[Any](), contextvars.copy_context()

    def work() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(function, *args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

    threading.Thread(target=work, name=f"tidy-{function.__name__}", daemon=True).start()
    return future
