"""backward() and grad(), and their asynchronous forms.

Source: torch/autograd/__init__.py.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import function, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .engine import execute
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import gradcheck, gradgradcheck
from .node import Edge, Grads
from .tensor import Tensor, gradient_edge, wrap

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "Function",
    "backward",
    "backward_async",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "grad_async",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

Tensors = Tensor | Sequence[Tensor]


def _as_tuple(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if tensors is None or isinstance(tensors, Tensor) else tuple(tensors)


def _roots(outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> tuple[list[Edge], Grads]:
    """Where to start, and with which gradients: ones for scalars where none is given."""
    edges: list[Edge] = []
    found: Grads = []
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    for index, (output, given) in enumerate(zip(outputs, grads, strict=True)):
        array = output.array
        grad = given
        if grad is not None:
            if not isinstance(grad, Tensor):
                raise TypeError(
                    f"gradients can be either Tensors or None, but got {type(grad).__name__}"
                )
            if grad.array.shape != array.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{index}] has a shape of "
                    f"{list(grad.array.shape)} and output[{index}] has a shape of "
                    f"{list(array.shape)}."
                )
            if (grad.array.dtype.kind == "c") != (array.dtype.kind == "c"):
                raise RuntimeError(
                    "For complex Tensors, both grad_output and output are required to have the "
                    f"same dtype; got {grad.array.dtype} and {array.dtype}"
                )
        elif output._rg:
            if array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if array.dtype.kind == "c":
                raise RuntimeError(
                    "grad can be implicitly created only for real scalar outputs but got "
                    f"{array.dtype}"
                )
            grad = wrap(np.ones(array.shape, array.dtype))
        edge = gradient_edge(output)
        if edge[0] is None:
            raise RuntimeError(
                f"element {index} of tensors does not require grad and does not have a grad_fn"
            )
        if grad is not None and grad.array.dtype is not array.dtype:
            grad = grad.to(array.dtype)
        edges.append(edge)
        found.append(grad)
    return edges, found


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the sum of the tensors' gradients to the `.grad` of the leaves (or of `inputs`).

    Args:
        tensors: what to differentiate; several are summed.
        grad_tensors: the gradient of something with respect to each; may be left out for scalars.
        retain_graph: keep what was saved, for another backward; by default as `create_graph`.
        create_graph: record the backward itself, so that it can be differentiated.
        inputs: accumulate into these alone, and run no more than that needs.

    Raises:
        RuntimeError: no graph, a freed one, or a gradient that does not fit.
    """
    del grad_variables
    outputs = _as_tuple(tensors)
    grads = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    wanted: list[Edge] = []
    if inputs is not None:
        leaves = _as_tuple(inputs)
        if not leaves:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for leaf in leaves:
            if not leaf._rg:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            leaf.retain_grad()
            wanted.append(gradient_edge(leaf))
    keep = create_graph if retain_graph is None else retain_graph
    edges, found = _roots(outputs, grads)
    execute(edges, found, keep, create_graph, wanted)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs' sum with respect to `inputs`; `.grad` stays as it is.

    Args:
        allow_unused: give None for an input the outputs do not depend on, rather than an error.
        materialize_grads: give zeros for such an input.

    Raises:
        RuntimeError: an input was not used, or needs no gradient; otherwise as for `backward`.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    if not only_inputs or is_grads_batched:
        raise NotImplementedError("only_inputs=False and is_grads_batched=True are not supported")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    out, leaves = _as_tuple(outputs), _as_tuple(inputs)
    given = (None,) * len(out) if grad_outputs is None else _as_tuple(grad_outputs)
    if not leaves:
        raise ValueError("grad requires non-empty inputs.")
    for leaf in leaves:
        if not leaf._rg:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    wanted = [gradient_edge(leaf) for leaf in leaves]
    keep = create_graph if retain_graph is None else retain_graph
    edges, found = _roots(out, given)
    result = execute(edges, found, keep, create_graph, wanted, accumulate_grad=False)
    for place, one in enumerate(result):
        if one is None:
            if not allow_unused:
                raise RuntimeError(
                    "One of the differentiated Tensors appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
            if materialize_grads:
                result[place] = wrap(np.zeros_like(leaves[place].array))
                result[place].requires_grad = create_graph  # type: ignore[union-attr]
    return tuple(result)


def _in_background(function: Callable[..., Any], args: Any, kwargs: Any) -> Future[Any]:
    from concurrent.futures import Future  # brings logging along

    future: Future[Any] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(function, *args, **kwargs))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name=f"tidy-{function.__name__}", daemon=True).start()
    return future


def backward_async(*args: Any, **kwargs: Any) -> Future[None]:
    """`backward`, on a thread of its own and in a copy of the caller's modes."""
    return _in_background(backward, args, kwargs)


def grad_async(*args: Any, **kwargs: Any) -> Future[tuple[Tensor | None, ...]]:
    """`grad`, on a thread of its own and in a copy of the caller's modes."""
    return _in_background(grad, args, kwargs)
