"""The engine: one backward, from the outputs' gradients to the leaves.

    execute      roots and their gradients  ->  a GraphTask  ->  one of two loops
    run_plain    what one reads first, and what runs where nobody interferes (plain_loop.py)
    run_full     with hooks, observers, a device, and `inputs=` (full_loop.py)

A backward inside a backward (of a hook, or a Function) runs as a nested call, and past `MAX_DEPTH`
of those on a fresh thread. Source: torch/csrc/autograd/engine.cpp.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..accelerator import accelerators
from ..core.thread_state import thread
from ..observe.arrangement import active
from .anomaly import name_the_node
from .full_loop import run_full
from .grad_mode import _grad
from .graph_task import GraphTask
from .node import Edge, Grads, GraphRoot, Node
from .plain_loop import run_plain

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_DEPTH = 60
# Two switches, for benchmarks and tests: whether nodes skip the edges that a task does not need,
# and whether the full loop runs also where the plain one would do.
TRIM, ALWAYS_FULL = True, False


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
    device = accelerators[0] if accelerators else None
    root, nr = roots[0]
    if root is not None and len(roots) == 1:
        inputs: Grads = [None] * len(root.input_metadata)
        inputs[nr] = grads[0]
    else:
        root, inputs = GraphRoot(roots), grads
    task = GraphTask(root, keep_graph, device)
    if outputs:
        task.trim(root, outputs, accumulate_grad)
    before, token = (thread.exec_info, thread.task), _grad.set(create_graph)
    thread.exec_info, thread.task = task.exec_info if TRIM else None, task
    thread.depth += 1
    try:
        with nullcontext() if device is None else device.backward(roots, grads):
            _run(task, root, inputs, plain=not (outputs or device or ALWAYS_FULL))
        for callback in task.callbacks:  # they may queue more
            callback()
    finally:
        thread.depth -= 1
        thread.exec_info, thread.task = before
        _grad.reset(token)
    return [] if accumulate_grad else task.captured


def _run(task: GraphTask, node: Node, inputs: Grads, plain: bool) -> None:
    try:
        following = run_plain(task, node, inputs) if plain else (node, inputs)
        if following is not None:
            run_full(task, *following)
    except BaseException as error:
        name_the_node(task.node, error)
        raise


def queue_callback(callback: Callable[[], object]) -> None:
    """Have it called at the end of the backward that is running."""
    if thread.task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    thread.task.callbacks.append(callback)


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


# The files of a running backward, as its frames name them: what a profiler takes the engine for.
FILES = frozenset(each.__code__.co_filename for each in (execute, run_plain, run_full))
