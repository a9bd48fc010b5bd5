"""torch.autograd.functional: derivatives of functions from tensors to tensors.

A function's inputs and its outputs are each a tensor or a tuple of tensors, and what is returned
is nested alike. With `create_graph` it can be differentiated; with `strict` an
output that does not depend on an input is an error. Source: torch/autograd/functional.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..core.aten import aten
from ..engine.backward import grad
from ..engine.grad_mode import enable_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]


def _tuple(value: Any) -> Tensors:
    tensors = value if isinstance(value, tuple) else (value,)
    fits = all(isinstance(x, Tensor) for x in tensors)
    check(fits, "inputs and outputs must be a Tensor or a tuple of Tensors", TypeError)
    return tensors


def _fresh(tensors: Any, create_graph: bool) -> Tensors:
    """New tensors with the same values: what the function captured itself is held constant."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in _tuple(tensors)
    )


def _grad(outputs: Tensors, inputs: Tensors, v: Tensors, graph: bool, strict: bool) -> Tensors:
    """The gradients of the outputs times `v`; zero (or an error) for an input without influence."""
    pairs = [(o, x) for o, x in zip(outputs, v, strict=True) if o.requires_grad]
    gradients: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        outs, weights = zip(*pairs, strict=True)
        gradients = grad(outs, inputs, weights, True, graph, allow_unused=True)
    lost = any(x is None or (graph and not x.requires_grad) for x in gradients)
    lost = strict and (lost or len(pairs) < len(outputs))
    check(not lost, "An output is independent of an input; not allowed in strict mode.")
    each = zip(inputs, gradients, strict=True)
    return tuple(aten.zeros_like(i) if x is None else x for i, x in each)


def _nested(value: Any, create_graph: bool, *like: Any) -> Any:
    """`value` detached, and without the tuples that `like` (the outer first) does not have."""
    if isinstance(value, Tensor):
        return value if create_graph else value.detach()
    inner = tuple(_nested(x, create_graph, *like[1:]) for x in value)
    return inner if isinstance(like[0], tuple) else inner[0]


def _evaluate(func: Function, inputs: Any, create_graph: bool) -> tuple[Tensors, Any, Tensors]:
    """The inputs as new tensors, what `func` makes of them, and that as a tuple."""
    at = _fresh(inputs, create_graph)
    with enable_grad():
        result = func(*at)
    return at, result, _tuple(result)


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, **how: Any
) -> Any:
    """Return for each output and input their Jacobian, of shape (*output, *input)."""
    if how.get("strategy", "reverse-mode") != "reverse-mode":
        raise NotImplementedError("jacobian: only strategy='reverse-mode'")
    at, result, outputs = _evaluate(func, inputs, create_graph)
    jacobians = []
    with enable_grad():
        for out in outputs:
            one = (aten.ones_like(out.reshape(-1)[0]),)
            rows = [_grad((x,), at, one, create_graph, strict) for x in out.reshape(-1)]
            pairs = zip(zip(*rows, strict=True), at, strict=True)
            shaped = [aten.stack(list(c)).reshape((*out.shape, *x.shape)) for c, x in pairs]
            jacobians.append(shaped)
    return _nested(jacobians, create_graph, result, inputs)


def _gradient(func: Function, inputs: Any, strict: bool, *at: Tensor) -> Any:
    """The gradient of `func` at `at`, nested as `inputs`."""
    output = func(*at)
    single = isinstance(output, Tensor) and output.numel() == 1
    check(single, "The function should return a single Tensor with a single element")
    return _nested(_grad((output,), at, (aten.ones_like(output),), True, strict), True, inputs)


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, **how: Any
) -> Any:
    """Return for each two inputs the second derivatives of `func`, of shape (*first, *second)."""
    gradient = partial(_gradient, func, inputs, strict)
    return jacobian(gradient, inputs, create_graph, strict, **how)
