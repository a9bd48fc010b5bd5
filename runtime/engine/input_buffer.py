"""What arrives at a node: sums of gradients, and their reduction to what the node expects.

A node's buffer is a list with one place per output of its operator. The first gradient is kept as
it is (somebody else may hold it too); a second one makes a sum of our own, and to that the third
and later ones are added in place. Sums with a sparse gradient are always made anew.
Source: torch/csrc/autograd/input_buffer.cpp, input_metadata.h, engine.cpp (validate_outputs).
"""

from __future__ import annotations

import numpy as np

from ..accelerator import accelerators
from ..core.storage import storage_of
from .grad_mode import _grad
from .node import Grads, Node
from .tensor import Tensor, wrap

Owned = set[tuple[Node, int]]


def add(buffer: Grads, node: Node, nr: int, grad: Tensor, owned: Owned, source: Node) -> None:
    """Add `grad`, which comes from `source`, to what is in place `nr` of `node`'s buffer."""
    old = buffer[nr]
    assert old is not None
    if accelerators and storage_of(grad) is not None:
        own = (node, nr) in owned and not _grad.get()
        buffer[nr] = accelerators[0].accumulate(source, node, old, grad, own)
        owned.add((node, nr))
    elif old.is_sparse:
        buffer[nr] = grad + old
    elif _grad.get() or grad.is_sparse:
        buffer[nr] = old + grad
    elif (node, nr) in owned:
        np.add(old.array, grad.array, out=old.array)
    else:
        buffer[nr] = wrap(np.add(old.array, grad.array))
        owned.add((node, nr))


def fit(grad: Tensor, target: Node, nr: int, source: Node, outputs: Grads) -> Tensor:
    """`grad`, one of the outputs of `source`, as `target` expects it in place `nr`.

    Dimensions that broadcasting added or stretched are summed over, and the dtype is converted.

    Raises:
        RuntimeError: it cannot be reduced to that shape.
    """
    shape, dtype = target.input_metadata[nr]
    have = grad.array.shape
    if have != shape:
        pairs = zip(shape[::-1], have[::-1], strict=False)
        if len(shape) <= len(have) and all(s in (1, t) for s, t in pairs):
            grad = grad._sum_to(shape)
        else:
            edges = enumerate(source.next_edges)
            index = next(i for i, e in edges if e == (target, nr) and outputs[i] is grad)
            got = f"got {list(have)} but expected shape compatible with {list(shape)}"
            who = f"Function {source.name()} returned an invalid gradient"
            raise RuntimeError(f"{who} at index {index} - {got}")
    if grad.array.dtype != dtype:
        grad = grad.real if grad.array.dtype.kind == "c" and dtype.kind != "c" else grad
        grad = grad.to(dtype)
    return grad


def right_length(node: Node, outputs: Grads) -> Grads:
    """Return as many gradients as the node has edges; beyond these only None may stand.

    Raises:
        RuntimeError: there are too few, or too many.
    """
    wanted, got = len(node.next_edges), len(outputs)
    if got == wanted:
        return outputs
    if got < wanted or any(g is not None for g in outputs[wanted:]):
        what = f"an invalid number of gradients - expected {wanted}, but got {got}"
        raise RuntimeError(f"Function {node.name()} returned {what}")
    return outputs[:wanted]
