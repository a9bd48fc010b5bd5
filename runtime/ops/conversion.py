"""Between dtypes, and between tensors and the rest of Python."""

# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Size, Tensor, wrap
from .composite import composite
from .elementwise import clone
from .table import op

_cast: Any = op(
    "aten::copy_", lambda self, dtype: self.astype(dtype), "self", self=lambda grad: grad
)
_cast.op.node_class.__name__ = "ToCopyBackward0"


@composite("aten::_to_copy")
def _to_copy(input: Tensor, dtype: Any) -> Tensor:  # noqa: A002
    return _cast(input, dtype)


def _dtype_of(args: tuple[Any, ...], dtype: Any) -> Any:
    for arg in args:
        if isinstance(arg, Tensor):
            return arg.array.dtype
        if isinstance(arg, (np.dtype, type)):
            return np.dtype(arg)
    return None if dtype is None else np.dtype(dtype)


@composite("aten::to")
def to(
    input: Tensor,  # noqa: A002
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool = False,
    non_blocking: bool = False,
) -> Tensor:
    """In another dtype (given as such, or as a tensor that has it); itself if it has it."""
    del device, non_blocking
    kind = _dtype_of(args, dtype)
    if kind is None or input.array.dtype == kind:
        return clone(input) if copy else input
    return _to_copy(input, kind)


def detach(input: Tensor) -> Tensor:  # noqa: A002
    """The same memory and version counter, outside autograd."""
    found = wrap(input.array)
    found._counter = input._counter
    return found


def detach_(input: Tensor) -> Tensor:  # noqa: A002
    """The tensor itself, cut off from its graph."""
    if input._view is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    input._node, input._rg, input.output_nr = None, False, 0
    return input


def contiguous(input: Tensor) -> Tensor:  # noqa: A002
    """Itself if its elements lie in order, else a copy where they do."""
    if input.array.flags.c_contiguous:
        return input
    return clone(input)


def numpy(input: Tensor, *, force: bool = False) -> Any:  # noqa: A002
    """The array itself; `force` detaches first.

    Raises:
        RuntimeError: it requires a gradient; detach it first.
    """
    if input.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return input.array


def item(input: Tensor) -> Any:  # noqa: A002
    """A tensor of one element as a Python number."""
    if input.array.size != 1:
        raise RuntimeError(
            f"a Tensor with {input.array.size} elements cannot be converted to Scalar"
        )
    return input.array.item()


def as_bool(input: Tensor) -> bool:  # noqa: A002
    """Whether its one element is not zero."""
    if input.array.size != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            + ("no values" if not input.array.size else "more than one value")
            + " is ambiguous"
        )
    return bool(input.array)


def text(input: Tensor) -> str:  # noqa: A002
    """As PyTorch prints it, nearly."""
    body = np.array2string(input.array, separator=", ", precision=4, prefix="tensor(")
    if input.array.dtype.name not in {"float32", "int64", "bool"}:
        body += f", dtype=torch.{input.array.dtype.name}"
    if input._node is not None:
        body += f", grad_fn=<{input._node.name()}>"
    elif input._rg:
        body += ", requires_grad=True"
    return f"tensor({body})"


def size(input: Tensor, dim: int | None = None) -> Any:  # noqa: A002
    """The shape, or its entry `dim`."""
    return Size(input.array.shape) if dim is None else input.array.shape[dim]
