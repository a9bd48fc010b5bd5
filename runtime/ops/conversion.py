"""Between dtypes, and between tensors and the rest of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..accelerator import current, is_available
from ..core.aten import aten
from ..core.device import Device
from ..core.dtypes import as_dtype
from ..core.storage import storage_of
from ..engine.grad_mode import is_grad_enabled
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from ..observe.arrangement import active, show_calls
from .make import TABLE, declare, device_like, function, in_format, on_cpu


def _dtype_of(args: tuple[Any, ...], dtype: Any) -> Any:
    for arg in args:
        if isinstance(arg, Tensor):
            return arg.array.dtype
        if isinstance(arg, (np.dtype, type)):
            return as_dtype(arg)
    return None if dtype is None else as_dtype(dtype)


def _to(self: Tensor, args: Any, dtype: Any, device: Any, copy: bool, non_blocking: bool) -> Tensor:
    """In another dtype or on another device, given or a tensor's; itself if it has both."""
    kind = _dtype_of(args, dtype)
    if is_available():
        given, flags = _device_of(args, device), [x for x in args if x.__class__ is bool]
        non_blocking, copy = [*flags, *(non_blocking, copy)[len(flags) :]]
        if given is not None and _is_elsewhere(self, given):
            return current().to_device(self, kind, given, non_blocking)
    else:
        on_cpu(_device_of(args, device))
    if kind is None or self.array.dtype == kind:
        return aten.clone(self) if copy else self
    return aten._to_copy(self, kind)


def _formatted(found: Tensor, memory_format: Any) -> Tensor:
    plain = memory_format in (None, "preserve_format")
    if memory_format == "contiguous_format" and found.array.ndim not in (4, 5):
        plain = True  # it is not in channels_last, which is all that is asked
    return found if plain else contiguous(found, memory_format)


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
    return have is None or have.index != current().device_index(device)


def _complex(real: Any, imag: Any) -> Any:
    if real.dtype.kind != "f" or real.dtype != imag.dtype:
        raise ValueError("Expected both inputs to be Half, Float or Double tensors of one dtype")
    return (real + 1j * imag).astype(np.complex128 if real.dtype.itemsize > 4 else np.complex64)


def _as_real(x: Any) -> Any:
    check(x.dtype.kind == "c", "view_as_real is only supported for complex tensors")
    return as_strided(x.real, (*x.shape, 2), (*x.strides, x.itemsize // 2))


def _as_complex(x: Any) -> Any:
    wanted = "view_as_complex is only supported for floating tensors whose last dimension is 2"
    check(x.dtype.kind == "f" and x.shape[-1:] == (2,), wanted)
    check(x.strides[-1] == x.itemsize, "Tensor must have a last dimension with stride 1")
    return x.view(f"c{x.itemsize * 2}")[..., 0]


def _single(self: Tensor, what: str) -> Tensor:
    if self.array.size != 1:
        raise RuntimeError(f"{what} of a Tensor with {self.array.size} elements is ambiguous")
    return self


_ROWS = r"""
[]
_to_copy.copy_(self, dtype: any) = self.astype(dtype, "C" if 0 in self.strides else "K") => grad
_to_copy(self, dtype)
    := _to_copy_copy_(self if dtype.kind in "fcV" else self.detach(), dtype)
_local_scalar_dense(self) := self.array.item()
[tensor]
to(self, *args, *, dtype = None, device = None, copy: bool = False, non_blocking: bool = False,
    memory_format = None)
    := _formatted(_to(self, args, dtype, device, copy, non_blocking), memory_format)
item(self) := _local_scalar_dense(_single(self, "the value"))
[torch]
complex(real, imag) = _complex(real, imag)
    real: grad.real
    imag: grad.imag
[torch tensor]
detach_copy(self) := self.detach().clone()
conj(self) = np.conjugate(self) if self.dtype.kind == "c" else self.copy() => grad.conj()
resolve_conj(self) := self
[torch tensor view]
view_as_real(self) = _as_real(self) => view_as_complex(grad.contiguous())
view_as_complex(self) = _as_complex(self) => view_as_real(grad)
[torch pair]
polar(self, other) := complex(self * cos(other), self * sin(other))
"""
declare(globals(), _ROWS)
TABLE["_to_copy_copy_"].name = "aten::copy_"  # what PyTorch shows inside aten::_to_copy


@function("torch tensor")
def detach(input: Tensor) -> Tensor:
    """Return the same memory and version counter, outside autograd."""
    found = wrap(input.array)
    found._counter = input._counter
    return found


@function("torch tensor")
def detach_(input: Tensor) -> Tensor:
    """Return the tensor itself, cut off from its graph."""
    check(input._view is None, "Can't detach views in-place. Use detach() instead.")
    input._node, input._rg, input.output_nr = None, False, 0
    return input


@function("tensor")
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if its elements lie in order, else a copy where they do."""
    wanted = memory_format or "contiguous_format"
    ordered = is_contiguous(input, wanted)
    if not ordered and wanted != "contiguous_format":
        in_format(input.array[:0], wanted)  # refuses other numbers of dimensions
    return input if ordered else aten.clone(input, memory_format=wanted)


@function("tensor")
def is_contiguous(input: Tensor, memory_format: Any = None) -> bool:
    """Tell whether its elements lie in order, that of the format."""
    order = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}.get(memory_format)
    array = input.array
    if order is not None:
        if array.ndim != len(order):
            return False
        array = array.transpose(order)
    return bool(array.flags.c_contiguous)


@function("tensor")
def numpy(input: Tensor, *, force: bool = False) -> Any:
    """Return the array itself; `force` detaches first."""
    told = "Can't call numpy() on Tensor that requires grad. Use detach() first."
    check(force or not (input.requires_grad and is_grad_enabled()), told)
    if storage_of(input) is None:
        if active:
            show_calls(input, "aten::detach", "aten::to", "aten::resolve_conj", "aten::resolve_neg")
        return input.array
    told = "Use Tensor.cpu() to copy the tensor to host memory first."
    check(force, f"can't convert {input.device} device type tensor to numpy. {told}", TypeError)
    return input.detach().cpu().array


def as_bool(input: Tensor) -> bool:
    """Tell whether its one element is not zero."""
    return bool(aten.item(_single(input, "the truth")))
