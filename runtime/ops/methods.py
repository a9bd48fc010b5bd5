"""What Tensor has besides the table's operators: Python's operators, properties, and conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Size, Tensor, wrap
from . import (  # noqa: F401
    conversion,
    convolution,
    creation,
    elementwise,
    foreach,
    indexing,
    joining,
    linalg,
    loss,
    matrix,
    normalization,
    reduction,
    views,
)
from .arguments import as_tensors
from .table import PUBLIC, aten


def _reversed(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Tensor, other: Any) -> Any:
        return function(other, self)

    return call


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


_OPERATORS: dict[str, Any] = {
    **{f"__{n}__": getattr(aten, f"{n.strip('r')}_to") for n in ("add", "radd", "sub")},
    **{f"__{n}__": getattr(aten, n) for n in "mul pow neg abs lt le gt ge".split()},
    **{f"__{n}__": getattr(aten, f"bitwise_{n}") for n in ("and", "or", "xor")},
    **{f"__i{n}__": getattr(aten, f"{n}_to_") for n in ("add", "sub")},
    "__rsub__": _reversed(aten.sub_to),
    "__rmul__": aten.mul,
    "__truediv__": aten.div_to,
    "__rtruediv__": _reversed(aten.div_to),
    "__floordiv__": aten.floor_divide,
    "__rfloordiv__": _reversed(aten.floor_divide),
    "__mod__": aten.remainder,
    "__rmod__": _reversed(aten.remainder),
    "__rpow__": _rpow,
    "__matmul__": aten.matmul,
    "__rmatmul__": _reversed(aten.matmul),
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
    "__contains__": lambda self, x: bool((self.array == getattr(x, "array", x)).any()),
    "__repr__": conversion.text,
    "__format__": _format,
    "__hash__": lambda self: id(self),
    "__array__": lambda self, dtype=None, copy=None: np.asarray(self.numpy(), dtype),
    "__reduce__": lambda self: (_unpickled, (type(self), self.array, self._rg)),
    "__deepcopy__": lambda self, memo: _copied(self, memo),
}


def _unpickled(kind: type[Tensor], array: Any, requires_grad: bool) -> Tensor:
    found = kind(array)
    found.requires_grad = requires_grad
    return found


def _copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    memo[id(self)] = found = _unpickled(type(self), self.array.copy(), self._rg)
    if self._grad is not None:
        found._grad = _copied(self._grad, memo)
    return found


def _new(self: Tensor, make: str, args: Any, dtype: Any, requires_grad: bool = False) -> Tensor:
    kind = self.array.dtype if dtype is None else dtype
    found: Tensor = PUBLIC["torch"][make](*args, dtype=kind, requires_grad=requires_grad)
    return found


def _make_new(make: str) -> Callable[..., Tensor]:
    def call(
        self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **more: Any
    ) -> Tensor:
        return _new(self, make, args, dtype, **more)

    call.__name__, call.__doc__ = f"new_{make}", f"`{make}`, with the dtype of this tensor."
    return call


_METHODS: dict[str, Any] = {
    **{f"new_{make}": _make_new(make) for make in "zeros ones empty full tensor".split()},
    "type_as": lambda self, other: self.to(other.array.dtype),
    "where": lambda self, condition, other: PUBLIC["torch"]["where"](condition, self, other),
    "float": lambda self: self.to(np.float32),
    "double": lambda self: self.to(np.float64),
    "half": lambda self: self.to(np.float16),
    "long": lambda self: self.to(np.int64),
    "int": lambda self: self.to(np.int32),
    "bool": lambda self: self.to(np.bool_),
    "byte": lambda self: self.to(np.uint8),
    "cpu": lambda self: self,
    "cuda": lambda self, device="cuda", non_blocking=False: self.to(device or "cuda"),
    "pin_memory": lambda self: _pinned(self),
    "is_pinned": lambda self: self.__dict__.get("_pinned", False),
    "tolist": lambda self: self.array.tolist(),
    "numel": lambda self: self.array.size,
    "nelement": lambda self: self.array.size,
    "dim": lambda self: self.array.ndim,
    "ndimension": lambda self: self.array.ndim,
    "stride": lambda self: tuple(s // self.array.itemsize for s in self.array.strides),
    "is_contiguous": lambda self, memory_format=None: self.array.flags.c_contiguous,
    "is_floating_point": lambda self: self.array.dtype.kind in "fV",
    "is_complex": lambda self: self.array.dtype.kind == "c",
    "element_size": lambda self: self.array.itemsize,
    "data_ptr": lambda self: self.array.ctypes.data,
    "get_device": lambda self: -1,
    "share_memory_": lambda self: self,
}


def _pinned(self: Tensor) -> Tensor:
    found = wrap(self.array)
    found.__dict__["_pinned"] = True
    return found


_PROPERTIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shape": (lambda self: Size(self.array.shape), "The sizes of its dimensions."),
    "dtype": (lambda self: self.array.dtype, "The dtype of its elements."),
    "ndim": (lambda self: self.array.ndim, "How many dimensions it has."),
    "T": (lambda self: self.permute(*range(self.array.ndim)[::-1]), "Dimensions reversed."),
    "mT": (lambda self: self.transpose(-2, -1), "The last two changed over."),
    "H": (lambda self: self.conj().transpose(-2, -1), "The conjugate transpose."),
    "real": (lambda self: _real(self), "The real part; a real tensor is its own."),
    "imag": (lambda self: aten.imag(self), "The imaginary part."),
    "device": (lambda self: Device("cpu"), "Always the CPU."),
    "is_cuda": (lambda self: False, "Never."),
    "layout": (lambda self: "torch.strided", "Always strided."),
    "nbytes": (lambda self: self.array.nbytes, "Bytes of its elements."),
    "itemsize": (lambda self: self.array.itemsize, "Bytes of one element."),
}


def _real(self: Tensor) -> Tensor:
    return aten.real(self) if self.array.dtype.kind == "c" else self


class Device(str):
    """A device by its name; there is only the CPU."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """`cpu`."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:
        """Its number, if it has one."""
        return int(self.partition(":")[2]) if ":" in self else None

    def __repr__(self) -> str:
        return f"device(type={self.type!r})"


for _name, _function in (*_OPERATORS.items(), *_METHODS.items()):
    setattr(Tensor, _name, _function)
for _name, (_read, _doc) in _PROPERTIES.items():
    setattr(Tensor, _name, property(_read, doc=_doc))
for _place in PUBLIC.values():
    for _alias, _known in {"multiply": "mul", "absolute": "abs", "concat": "cat", "divide": "div",
                           "subtract": "sub", "negative": "neg", "greater": "gt", "less": "lt",
                           "clip": "clamp", "arctan2": "atan2", "true_divide": "div"}.items():  # fmt: skip
        if _known in _place:
            _place[_alias] = _place[_known]
            if _place is PUBLIC["tensor"]:
                setattr(Tensor, _alias, _place[_known])
