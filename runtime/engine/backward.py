"""backward() and grad(), and their asynchronous forms. Source: torch/autograd/__init__.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aten import aten
from ..core.storage import storages
from . import engine
from .engine import execute, in_background
from .hooks import check
from .node import Edge, GradientEdge, Grads
from .tensor import Tensor, gradient_edge, wrap

if TYPE_CHECKING:
    from concurrent.futures import Future

Tensors = Tensor | Sequence[Tensor]
_NEEDS_NONE = "One of the differentiated Tensors does not require grad"
_UNUSED = "One of the differentiated Tensors was not used in the graph; allow_unused=True allows it"


def as_tuple(tensors: Any) -> tuple[Any, ...]:
    """Return one tensor (or edge, or None) as a tuple, like several."""
    one = tensors is None or isinstance(tensors, (Tensor, GradientEdge))
    return (tensors,) if one else tuple(tensors)


def _edge_of(leaf: Any) -> Edge:
    """Where a gradient that is asked for arrives."""
    if isinstance(leaf, GradientEdge):
        return leaf
    check(leaf._rg, _NEEDS_NONE)
    return gradient_edge(leaf)


def _roots(outputs: Any, grads: Any) -> tuple[list[Edge], Grads]:
    """Where to start, and with which gradients: ones for scalars where none is given."""
    outputs = as_tuple(outputs)
    grads = (None,) * len(outputs) if grads is None else as_tuple(grads)
    check(len(grads) == len(outputs), f"got {len(outputs)} tensors and {len(grads)} gradients")
    edges, gradients = list[Edge](), list[Tensor | None]()
    for index, (output, grad) in enumerate(zip(outputs, grads, strict=True)):
        if isinstance(output, GradientEdge):
            check(grad is not None, "the gradient of a GradientEdge has to be given")
            edges.append(output)
            gradients.append(grad)
            continue
        array, dtype = output.array, output.array.dtype
        if grad is not None:
            wrong = f"gradients can be either Tensors or None, but got {type(grad).__name__}"
            check(isinstance(grad, Tensor), wrong, TypeError)
            given = grad.array
            if given.shape != array.shape:
                wrong = f"has a shape of {list(given.shape)}, the output {list(array.shape)}"
                raise RuntimeError(f"Mismatch in shape: grad_output[{index}] {wrong}")
            same = (given.dtype.kind == "c") == (dtype.kind == "c")
            check(same, "grad_output and output must both be complex, or neither")
        elif output._rg:
            scalar = array.size == 1 and dtype.kind != "c"
            check(scalar, "grad can be implicitly created only for real scalar outputs")
            grad = wrap(np.ones(array.shape, dtype)) if not storages else aten.ones_like(output)  # noqa: PLW2901
        edge = gradient_edge(output)
        none = f"element {index} of tensors does not require grad and does not have a grad_fn"
        check(edge[0] is not None, none)
        edges.append(edge)
        gradients.append(grad if grad is None or grad.array.dtype is dtype else grad.to(dtype))
    return edges, gradients


def backward(
    tensors: Tensors,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the sum of the tensors' gradients to the `.grad` of the leaves (or of `inputs`)."""
    wanted: list[Edge] = []
    if inputs is not None:
        leaves = as_tuple(inputs)
        check(len(leaves) > 0, "`inputs` argument to `backward()` cannot be empty.")
        for leaf in leaves:
            wanted.append(_edge_of(leaf))
            if isinstance(leaf, Tensor):
                leaf.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    execute(*_roots(tensors, grad_tensors), keep, create_graph, wanted)


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
    """Return the gradients of the outputs' sum with respect to `inputs`; `.grad` stays as it is."""
    wrong = "materialize_grads=True goes with allow_unused=True only"
    check(not materialize_grads or allow_unused is not False, wrong, ValueError)
    check(only_inputs, "only_inputs=False is not supported", NotImplementedError)
    leaves = as_tuple(inputs)
    check(len(leaves) > 0, "grad requires non-empty inputs.", ValueError)
    wanted = [_edge_of(leaf) for leaf in leaves]
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        given = as_tuple(grad_outputs)
        sizes = [each.array.shape[:1] for each in given if each is not None]
        check(bool(sizes), "is_grads_batched=True wants a batch of gradients")
        (count,) = sizes[0] or (0,)
        check(count > 0, "the batch of gradients is empty", IndexError)
        how = (create_graph, True, allow_unused, False, materialize_grads)
        each_row = ([x if x is None else x[n] for x in given] for n in range(count))
        rows = [
            grad(outputs, inputs, row, keep or n < count - 1, *how)
            for n, row in enumerate(each_row)
        ]
        each = zip(*rows, strict=True)
        return tuple(None if parts[0] is None else aten.stack(list(parts)) for parts in each)
    result = execute(*_roots(outputs, grad_outputs), keep, create_graph, wanted, False)
    for place, leaf in enumerate(leaves):
        if result[place] is None:
            check(allow_unused or materialize_grads, _UNUSED)
            if materialize_grads:
                told = "materialize_grads cannot be used when the given input is a GradientEdge"
                check(isinstance(leaf, Tensor), told)
                result[place] = zeros = aten.zeros_like(leaf)
                zeros.requires_grad = create_graph
    return tuple(result)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradient of this tensor to the leaves' `.grad`; see `autograd.backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward.__name__, _backward.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _backward


class _IsTensor(type):
    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, Tensor)


class Variable(metaclass=_IsTensor):
    """`Variable(tensor)` is the tensor's memory as a leaf; all tensors are Variables."""

    _execution_engine = engine

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:  # noqa: ARG004
        data = aten.empty(0) if data is None else data
        wrong = f"Variable data has to be a tensor, but got {type(data).__name__}"
        check(isinstance(data, Tensor), wrong, TypeError)
        return aten.detach(data).requires_grad_(requires_grad)


def backward_async(*args: Any, **kwargs: Any) -> Future[None]:
    """`backward`, on a thread of its own and in a copy of the caller's modes."""
    return in_background(backward, *args, **kwargs)


def grad_async(*args: Any, **kwargs: Any) -> Future[tuple[Tensor | None, ...]]:
    """`grad`, on a thread of its own and in a copy of the caller's modes."""
    return in_background(grad, *args, **kwargs)
