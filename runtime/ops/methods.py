"""What Tensor has besides the table's operators: Python's own, properties, and conversions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..device import CPU, Device
from ..storage import is_pinned, pin, storage_of, storages
from ..tensor import Size, Tensor, wrap
from . import conversion, indexing
from .arguments import as_tensors, device_like
from .table import PUBLIC, aten

_OTHERS = "convolution creation elementwise foreach joining linalg loss matrix normalization"
for _name in f"{_OTHERS} reduction views".split():
    importlib.import_module(f"{__package__}.{_name}")


def _reversed(name: str) -> Callable[..., Any]:
    return lambda self, other: getattr(aten, name)(other, self)


def _rpow(self: Tensor, other: Any) -> Any:
    return aten.pow(*as_tensors("aten::pow", other, self))


def _no_length() -> Any:
    raise TypeError("iteration over a 0-d tensor")


def _eq(self: Tensor, other: Any) -> Any:
    known = isinstance(other, (Tensor, bool, int, float, complex, np.ndarray, np.generic))
    return aten.eq(self, other) if known else NotImplemented


def _ne(self: Tensor, other: Any) -> Any:
    return NotImplemented if _eq(self, other) is NotImplemented else aten.ne(self, other)


def _one(self: Tensor) -> Any:
    if self.array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return self.item()


def _whole(self: Tensor) -> Any:
    if self.array.size != 1 or self.array.dtype.kind not in "biu":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def _format(self: Tensor, spec: str) -> str:
    return format(self.item(), spec) if not self.array.ndim else object.__format__(self, spec)


def _unpickled(kind: type[Tensor], array: Any, requires_grad: bool) -> Tensor:
    found = kind(array)
    found.requires_grad = requires_grad
    return found


def _copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self._node is not None:
        raise RuntimeError("only leaves of the graph can be copied by copy.deepcopy")
    copy = aten.clone(self.detach()).array if storages else self.array.copy()
    memo[id(self)] = found = _unpickled(type(self), copy, self._rg)
    if self._grad is not None:
        found._grad = _copied(self._grad, memo)
    return found


def _pinned(self: Tensor, device: Any = None) -> Tensor:
    """Itself where it is pinned, else a copy in page-locked memory."""
    if storage_of(self) is not None:
        raise RuntimeError(
            "cannot pin 'torch.cuda.FloatTensor': only dense CPU tensors can be pinned"
        )
    if is_pinned(self):
        return self
    found = wrap(self.array.copy())
    pin(found)
    return found


def _on_host(self: Tensor) -> Any:
    """The array, for who reads it on the host: a copy of what is on a device."""
    return self.cpu().array if storage_of(self) is not None else self.array


def _device(self: Tensor) -> Device:
    storage = storage_of(self) if storages else None
    return CPU if storage is None else Device("cuda", storage.device)


def _cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Any:
    place = Device("cuda" if device is None else device)
    return self.to(place, non_blocking=non_blocking)


def _record_stream(self: Tensor, stream: Any) -> None:
    from ..cuda.streams import record_stream

    record_stream(self, stream)


def _real(self: Tensor) -> Tensor:
    return aten.real(self) if self.array.dtype.kind == "c" else self


_NAMES = "add_to sub_to mul div_to floor_divide remainder matmul pow".split()
_PYTHON = "add sub mul truediv floordiv mod matmul pow".split()
_OPERATORS: dict[str, Any] = {
    **{f"__{n}__": getattr(aten, known) for n, known in zip(_PYTHON, _NAMES, strict=True)},
    **{f"__r{n}__": _reversed(known) for n, known in zip(_PYTHON, _NAMES, strict=True)},
    **{f"__{n}__": getattr(aten, n) for n in "neg abs ne lt le gt ge".split()},
    **{f"__{n}__": getattr(aten, f"bitwise_{n}") for n in ("and", "or", "xor")},
    **{f"__i{n}__": getattr(aten, f"{n}_to_") for n in ("add", "sub")},
    "__radd__": aten.add_to,
    "__rmul__": aten.mul,
    "__rpow__": _rpow,
    "__pos__": aten.positive,
    "__invert__": aten.bitwise_not,
    "__imul__": aten.mul_,
    "__itruediv__": aten.div_to_,
    "__ipow__": aten.pow_,
    "__eq__": _eq,
    "__ne__": _ne,
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
    "__len__": lambda self: self.array.shape[0] if self.array.ndim else _no_length(),
    "__iter__": lambda self: iter(self.unbind(0)) if self.array.ndim else _no_length(),
    "__bool__": conversion.as_bool,
    "__float__": lambda self: float(_one(self)),
    "__int__": lambda self: int(_one(self)),
    "__complex__": lambda self: complex(_one(self)),
    "__index__": _whole,
    "__contains__": lambda self, x: bool((self == x).any()),
    "__repr__": conversion.text,
    "__format__": _format,
    "__hash__": object.__hash__,
    "__array__": lambda self, dtype=None, copy=None: np.asarray(self.numpy(), dtype),
    "__reduce__": lambda self: (_unpickled, (type(self), _on_host(self), self._rg)),
    "__deepcopy__": _copied,
}


def _new(make: str) -> Callable[..., Tensor]:
    """`make`, with the dtype and on the device of a tensor."""

    def call(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **more: Any) -> Any:
        kind = self.array.dtype if dtype is None else dtype
        place = device_like(self) if device is None else device
        return PUBLIC["torch"][make](*args, dtype=kind, device=place, **more)

    return call


def _cast(dtype: Any) -> Callable[[Tensor], Tensor]:
    return lambda self: self.to(dtype)


_DTYPES = "float:float32 double:float64 half:float16 long:int64 int:int32 byte:uint8 bool:bool_"
_METHODS: dict[str, Any] = {
    **{f"new_{make}": _new(make) for make in "zeros ones empty full tensor".split()},
    "type_as": lambda self, other: self.to(other),
    "where": lambda self, condition, other: PUBLIC["torch"]["where"](condition, self, other),
    **{n: _cast(getattr(np, t)) for n, t in (pair.split(":") for pair in _DTYPES.split())},
    "cpu": lambda self, memory_format=None: self.to("cpu") if storages else self,
    "cuda": _cuda,
    "pin_memory": _pinned,
    "is_pinned": is_pinned,
    "record_stream": _record_stream,
    "tolist": lambda self: _on_host(self).tolist(),
    "size": lambda self, dim=None: self.shape if dim is None else self.array.shape[dim],
    **dict.fromkeys(("numel", "nelement"), lambda self: self.array.size),
    **dict.fromkeys(("dim", "ndimension"), lambda self: self.array.ndim),
    "stride": lambda self: tuple(s // self.array.itemsize for s in self.array.strides),
    "is_contiguous": lambda self, memory_format=None: self.array.flags.c_contiguous,
    "is_floating_point": lambda self: self.array.dtype.kind in "fV",
    "is_complex": lambda self: self.array.dtype.kind == "c",
    "element_size": lambda self: self.array.itemsize,
    "data_ptr": lambda self: self.array.ctypes.data,
    "get_device": lambda self: -1 if self.device.index is None else self.device.index,
    "share_memory_": lambda self: self,
}


_PROPERTIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shape": (lambda self: Size(self.array.shape), "The sizes of its dimensions."),
    "dtype": (lambda self: self.array.dtype, "The dtype of its elements."),
    "ndim": (lambda self: self.array.ndim, "How many dimensions it has."),
    "T": (lambda self: self.permute(*range(self.array.ndim)[::-1]), "Dimensions reversed."),
    "mT": (lambda self: self.transpose(-2, -1), "The last two changed over."),
    "H": (lambda self: self.conj().transpose(-2, -1), "The conjugate transpose."),
    "real": (_real, "The real part; a real tensor is its own."),
    "imag": (aten.imag, "The imaginary part."),
    "device": (_device, "The device that its memory is on."),
    "is_cuda": (lambda self: storage_of(self) is not None, "Whether it is on a CUDA device."),
    "is_cpu": (lambda self: storage_of(self) is None, "Whether it is on the CPU."),
    "layout": (lambda self: "torch.strided", "Always strided."),
    "nbytes": (lambda self: self.array.nbytes, "Bytes of its elements."),
    "itemsize": (lambda self: self.array.itemsize, "Bytes of one element."),
}


_ALIASES = (
    "multiply:mul absolute:abs concat:cat divide:div true_divide:div subtract:sub negative:neg "
    "greater:gt less:lt clip:clamp arctan2:atan2"
)
for _place in PUBLIC.values():
    _place |= {a: _place[n] for a, n in (p.split(":") for p in _ALIASES.split()) if n in _place}
for _name, _function in PUBLIC["tensor"].items():
    setattr(Tensor, _name, _function)
for _name, _function in (*_OPERATORS.items(), *_METHODS.items()):
    setattr(Tensor, _name, _function)
for _name, (_read, _doc) in _PROPERTIES.items():
    setattr(Tensor, _name, property(_read, doc=_doc))
