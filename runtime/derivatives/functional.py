"""torch.autograd.functional: derivatives of functions from tensors to tensors.

A function's inputs and its outputs are each a tensor or a tuple of tensors, and what is returned
is nested alike. With `create_graph` it can be differentiated.

Source: torch/autograd/functional.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.aten import aten
from ..engine.grad_mode import enable_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .transforms import jacobians, product

Function = Callable[..., Any]


def _tuple(value: Any) -> tuple[Tensor, ...]:
    tensors = value if isinstance(value, tuple) else (value,)
    fits = all(isinstance(x, Tensor) for x in tensors)
    check(fits, "inputs and outputs must be a Tensor or a tuple of Tensors", TypeError)
    return tensors


def _nested(value: Any, create_graph: bool, *like: Any) -> Any:
    """`value` detached, and without the tuples that `like` (the outer first) does not have."""
    if isinstance(value, Tensor):
        return value if create_graph else value.detach()
    inner = tuple(_nested(x, create_graph, *like[1:]) for x in value)
    return inner if isinstance(like[0], tuple) else inner[0]


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, **how: Any
) -> Any:
    """Return for each output and input their Jacobian, of shape (*output, *input)."""
    known = not strict and how.get("strategy", "reverse-mode") == "reverse-mode"
    told = "jacobian: only strategy='reverse-mode' and strict=False"
    check(known, told, NotImplementedError)
    at = [  # what the function captured itself is held constant
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in _tuple(inputs)
    ]
    with enable_grad():
        result = func(*at)
        found = [jacobians(out, at, create_graph) for out in _tuple(result)]
    return _nested(found, create_graph, result, inputs)


def _gradient(func: Function, inputs: Any, *at: Tensor) -> Any:
    """The gradient of `func` at `at`, nested as `inputs`."""
    output = func(*at)
    single = isinstance(output, Tensor) and output.numel() == 1
    check(single, "The function should return a single Tensor with a single element")
    return _nested(product([output], [*at], [aten.ones_like(output)], True), True, inputs)


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, **how: Any
) -> Any:
    """Return for each two inputs the second derivatives of `func`, of shape (*first, *second)."""
    return jacobian(partial(_gradient, func, inputs), inputs, create_graph, strict, **how)
