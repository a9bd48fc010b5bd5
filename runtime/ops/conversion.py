"""Between dtypes, and between tensors and the rest of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .arguments import on_cpu
from .table import TABLE, aten, declare, function


def _dtype_of(args: tuple[Any, ...], dtype: Any) -> Any:
    for arg in args:
        if isinstance(arg, Tensor):
            return arg.array.dtype
        if isinstance(arg, (np.dtype, type)):
            return np.dtype(arg)
    return None if dtype is None else np.dtype(dtype)


def _to(self: Tensor, args: Any, dtype: Any, device: Any, copy: bool) -> Tensor:
    """In another dtype (given as such, or as a tensor that has it); itself if it has it."""
    on_cpu(next((x for x in args if isinstance(x, str)), device))
    kind = _dtype_of(args, dtype)
    if kind is None or self.array.dtype == kind:
        return aten.clone(self) if copy else self
    return aten._to_copy(self, kind)


def _complex(real: Any, imag: Any) -> Any:
    if real.dtype.kind != "f" or real.dtype != imag.dtype:
        raise ValueError("Expected both inputs to be Half, Float or Double tensors of one dtype")
    return (real + 1j * imag).astype(np.complex128 if real.dtype.itemsize > 4 else np.complex64)


def _single(self: Tensor, what: str) -> Tensor:
    if self.array.size != 1:
        raise RuntimeError(f"{what} of a Tensor with {self.array.size} elements is ambiguous")
    return self


declare(
    globals(),
    r"""
[]
_to_copy.copy_(self, dtype: any) = self.astype(dtype) => grad
_to_copy(self, dtype)
    := _to_copy_copy_(self if dtype.kind in "fcV" else self.detach(), dtype)
_local_scalar_dense(self) := self.array.item()
[tensor]
to(self, *args, *, dtype = None, device = None, copy: bool = False, non_blocking: bool = False,
    memory_format = None) := _to(self, args, dtype, device, copy)
item(self) := _local_scalar_dense(_single(self, "the value"))
[torch]
complex(real, imag) = _complex(real, imag)
    real: grad.real
    imag: grad.imag
[torch tensor]
detach_copy(self) := self.detach().clone()
view_as_real(self) := stack([self.real, self.imag], -1)
view_as_complex(self) := complex(self.select(-1, 0), self.select(-1, 1))
conj(self) = np.conjugate(self) if self.dtype.kind == "c" else self.copy() => grad.conj()
resolve_conj(self) := self
""",
)
TABLE["_to_copy_copy_"].name = "aten::copy_"  # what PyTorch shows inside aten::_to_copy


@function("torch tensor")
def detach(input: Tensor) -> Tensor:
    """The same memory and version counter, outside autograd."""
    found = wrap(input.array)
    found._counter = input._counter
    return found


@function("torch tensor")
def detach_(input: Tensor) -> Tensor:
    """The tensor itself, cut off from its graph."""
    if input._view is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    input._node, input._rg, input.output_nr = None, False, 0
    return input


@function("tensor")
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if its elements lie in order, else a copy where they do."""
    ordered = input.array.flags.c_contiguous
    return input if ordered else aten.clone(input, memory_format="contiguous_format")


@function("tensor")
def numpy(input: Tensor, *, force: bool = False) -> Any:
    """The array itself; `force` detaches first."""
    if input.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use detach() first.")
    return input.array


def as_bool(input: Tensor) -> bool:
    """Whether its one element is not zero."""
    return bool(aten.item(_single(input, "the truth")))


def text(input: Tensor) -> str:
    """As PyTorch prints it, nearly."""
    body = np.array2string(input.array, separator=", ", precision=4, prefix="tensor(")
    if input.array.dtype.name not in {"float32", "int64", "bool"}:
        body += f", dtype=torch.{input.array.dtype.name}"
    if input._node is not None:
        body += f", grad_fn=<{input._node.name()}>"
    elif input._rg:
        body += ", requires_grad=True"
    return f"tensor({body})"
