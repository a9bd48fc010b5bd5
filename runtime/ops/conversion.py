"""Between dtypes, and between tensors and the rest of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import Device
from ..storage import accelerator, storage_of
from ..tensor import Tensor, wrap
from .arguments import device_like, on_cpu
from .table import TABLE, aten, declare, function


def _dtype_of(args: tuple[Any, ...], dtype: Any) -> Any:
    for arg in args:
        if isinstance(arg, Tensor):
            return arg.array.dtype
        if isinstance(arg, (np.dtype, type)):
            return np.dtype(arg)
    return None if dtype is None else np.dtype(dtype)


def _to(self: Tensor, args: Any, dtype: Any, device: Any, copy: bool, non_blocking: bool) -> Tensor:
    """In another dtype or on another device, given as such or as a tensor that has them.

    Itself if it has both.
    """
    kind = _dtype_of(args, dtype)
    if accelerator:
        given, flags = _device_of(args, device), [x for x in args if x.__class__ is bool]
        non_blocking, copy = [*flags, *(non_blocking, copy)[len(flags) :]]
        if given is not None and _is_elsewhere(self, given):
            from ..cuda.transfer import to_device

            return to_device(self, kind, given, non_blocking)
    else:
        on_cpu(_device_of(args, device))
    if kind is None or self.array.dtype == kind:
        return aten.clone(self) if copy else self
    return aten._to_copy(self, kind)


def _device_of(args: tuple[Any, ...], device: Any) -> Any:
    for arg in args:
        if isinstance(arg, Tensor):
            return arg.device
        if isinstance(arg, str) or arg.__class__ is int:
            return Device(arg)
    return device if device is None else Device(device)


def _is_elsewhere(self: Tensor, device: Device) -> bool:
    """`cuda` alone is the current one."""
    have = device_like(self)
    if device.type != "cuda":
        on_cpu(device)
        return have is not None
    from ..cuda.state import device_index

    return have is None or have.index != device_index(device)


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
    memory_format = None) := _to(self, args, dtype, device, copy, non_blocking)
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
    if storage_of(input) is None:
        return input.array
    if not force:
        raise TypeError(
            f"can't convert {input.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return input.detach().cpu().array


def as_bool(input: Tensor) -> bool:
    """Whether its one element is not zero."""
    return bool(aten.item(_single(input, "the truth")))


def text(input: Tensor) -> str:
    """As PyTorch prints it, nearly."""
    device = device_like(input)
    shown = input.array if device is None else input.detach().cpu().array
    body = np.array2string(shown, separator=", ", precision=4, prefix="tensor(")
    if input.array.dtype.name not in {"float32", "int64", "bool"}:
        body += f", dtype=torch.{input.array.dtype.name}"
    if device is not None:
        body += f", device='{device}'"
    if input._node is not None:
        body += f", grad_fn=<{input._node.name()}>"
    elif input._rg:
        body += ", requires_grad=True"
    return f"tensor({body})"
