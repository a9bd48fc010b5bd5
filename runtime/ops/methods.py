"""What Tensor has besides the table's operators: Python's own, properties, and conversions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..accelerator import current
from ..core import dtypes
from ..core.aten import aten
from ..core.device import CPU, Device
from ..core.storage import is_pinned, owner_of, pin, storage_of, storages
from ..engine.hooks import check
from ..engine.tensor import Size, Tensor, bump_version, wrap
from ..observe.arrangement import active, show_calls
from . import conversion, indexing
from .make import PUBLIC, as_tensors, device_like, same_kind, sizes

_OTHERS = "activation convolution creation elementwise embedding foreach joining"
_MORE = "linalg loss margin matrix norms normalization reduction resampling"
_LAST = "searching softmax sparse special storages typed_tensors views windows"
for _name in f"{_OTHERS} {_MORE} {_LAST}".split():
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


def _text(self: Tensor) -> str:
    from .printing import text  # not before something is printed

    return text(self)


def _from_numpy(self: Tensor, array: Any, context: Any = None, return_scalar: Any = None) -> Any:
    """What `np.sin(tensor)` and its like give."""
    return wrap(array.astype(np.uint8) if array.dtype.kind == "b" else array)


def _whole(self: Tensor) -> Any:
    if self.array.size != 1 or self.array.dtype.kind not in "biu":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def _format(self: Tensor, spec: str) -> str:
    return format(self.item(), spec) if not self.array.ndim else object.__format__(self, spec)


def _unpickled(kind: type[Tensor], array: Any, requires_grad: bool) -> Tensor:
    found = Tensor.__new__(kind)._become(wrap(array))
    found.requires_grad = requires_grad
    return found


def _memory_copied(array: Any, memo: dict[int, Any]) -> Any:
    """A copy that shares memory with the copies of what shares memory with the array."""
    root = owner_of(array)
    if not isinstance(root, np.ndarray) or not root.flags.forc or root.dtype != array.dtype:
        return array.copy()
    key = id(root)
    if key not in memo:
        memo[key] = root.copy("K")
        memo.setdefault(id(memo), []).append(root)  # so that its identity stays its own
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(
        array.shape, array.dtype, memo[key], offset if array.size else 0, array.strides
    )


def _copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    check(self._node is None, "only leaves of the graph can be copied by copy.deepcopy")
    copy = aten.clone(self.detach()).array if storages else _memory_copied(self.array, memo)
    memo[id(self)] = found = _unpickled(type(self), copy, self._rg)
    if self._grad is not None:
        found._grad = _copied(self._grad, memo)
    return found


def _pinned(self: Tensor, device: Any = None) -> Tensor:
    """Itself where it is pinned, else a copy in page-locked memory."""
    on_cpu = storage_of(self) is None
    check(on_cpu, "cannot pin 'torch.cuda.FloatTensor': only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    found = wrap(self.array.copy())
    pin(found)
    return found


def _on_host(self: Tensor) -> Any:
    """The array, for who reads it on the host: a copy of what is on a device."""
    return self.cpu().array if storage_of(self) is not None else self.array


def _to_list(self: Tensor) -> Any:
    if active:
        show_calls(self, "aten::resolve_conj", "aten::resolve_neg")
    return _on_host(self).tolist()


def _device(self: Tensor) -> Device:
    storage = storage_of(self) if storages else None
    return CPU if storage is None else Device("cuda", storage.device)


def _cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Any:
    place = Device("cuda" if device is None else device)
    return self.to(place, non_blocking=non_blocking)


def _real(self: Tensor) -> Tensor:
    return aten.real(self) if self.array.dtype.kind == "c" else self


_NAMES = "add_to sub_to mul div_to floor_divide remainder matmul pow".split()
_PYTHON = "add sub mul truediv floordiv mod matmul pow".split()
_OPERATORS: dict[str, Any] = {
    **{f"__{n}__": getattr(aten, known) for n, known in zip(_PYTHON, _NAMES, strict=True)},
    **{f"__r{n}__": _reversed(known) for n, known in zip(_PYTHON, _NAMES, strict=True)},
    "__rtruediv__": lambda self, other: aten.mul(aten.reciprocal(self), other),
    **{f"__{n}__": getattr(aten, n) for n in "neg abs ne lt le gt ge".split()},
    **{f"__{n}__": getattr(aten, f"bitwise_{n}") for n in ("and", "or", "xor")},
    **{f"__r{n}__": _reversed(f"bitwise_{n}") for n in ("and", "or", "xor")},
    **{f"__{n[0]}shift__": getattr(aten, f"bitwise_{n}_shift") for n in ("left", "right")},
    **{f"__r{n[0]}shift__": _reversed(f"bitwise_{n}_shift") for n in ("left", "right")},
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
    "__repr__": _text,
    "__format__": _format,
    "__hash__": object.__hash__,
    "__array__": lambda self, dtype=None, copy=None: np.asarray(self.numpy(), dtype),
    "__array_wrap__": _from_numpy,
    "__reduce__": lambda self: (_unpickled, (type(self), _on_host(self), self._rg)),
    "__deepcopy__": _copied,
}


def _offset(self: Tensor) -> int:
    root, start = owner_of(self.array), "__array_interface__"
    first = getattr(root, start)["data"][0] if isinstance(root, np.ndarray) else self.data_ptr()
    return int((self.data_ptr() - first) // self.array.itemsize)


def _new(make: str) -> Callable[..., Tensor]:
    """`make`, with the dtype and on the device of a tensor."""

    def call(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **more: Any) -> Any:
        kind = self.array.dtype if dtype is None else dtype
        place = device_like(self) if device is None else device
        return PUBLIC["torch"][make](*args, dtype=kind, device=place, **more)

    return call


_KINDS = {"float16": "Half", "float32": "Float", "float64": "Double", "int8": "Char"}
_KINDS |= {"int16": "Short", "int32": "Int", "int64": "Long", "uint8": "Byte", "bool": "Bool"}
_KINDS |= {"bfloat16": "BFloat16", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Its type's name; or itself in another type, given as a name, a class or a dtype."""
    names = {f"torch.{kind}Tensor": name for name, kind in _KINDS.items()}
    if dtype is None:
        place = ".cuda" if self.is_cuda else ""
        return f"torch{place}.{_KINDS[self.array.dtype.name]}Tensor"
    check(not isinstance(dtype, str) or dtype in names, f"invalid type: {dtype!r}", ValueError)
    kind = names[dtype] if isinstance(dtype, str) else getattr(dtype, "dtype", dtype)
    return self.to(np.dtype(kind) if kind != "bfloat16" else dtypes.bfloat16)


def _new_like(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    return (
        PUBLIC["torch"]["tensor"](*data, dtype=self.dtype)
        if data and isinstance(data[0], (list, tuple)) and not isinstance(data[0], Size)
        else aten.legacy_tensor(data, self.dtype, device)
    )


def _resize(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Another size, in place; elements that there are stay in their order."""
    shape = sizes(size)
    check(not self._rg, "cannot resize variables that require grad")
    flat = np.zeros(int(np.prod(shape)), self.array.dtype)
    have = self.array.reshape(-1)[: flat.size]
    flat[: have.size] = have
    self.array = flat.reshape(shape)
    bump_version(self)
    return self


def _cast(dtype: Any) -> Callable[..., Tensor]:
    return lambda self, memory_format=None: self.to(dtype, memory_format=memory_format)


def _in_place(name: str) -> Callable[..., Tensor]:
    """An operator whose result is written to its first operand, as far as the dtype allows."""

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        made = getattr(self.clone(), name)(*args, **kwargs)  # what it saves stays as it is
        same_kind(f"aten::{name}_", self.array, made.array)
        fits = made.array.shape == self.array.shape
        check(fits, f"output with shape {self.shape} doesn't match the broadcast shape")
        return aten.copy_(self, made)

    return call


def _turned(name: str) -> Callable[..., Tensor]:
    """A view that takes its tensor's place, where no graph and no other view knows that one."""

    def call(self: Tensor, *args: Any) -> Tensor:
        alone = not self.requires_grad and self._view is None
        check(
            alone, f"{name}_ of a view, or with a gradient, is not supported", NotImplementedError
        )
        self.array = getattr(self.detach(), name)(*args).array
        return self

    return call


def _fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    shape = self.array.shape
    check(len(shape) > 1, "dimensions must larger than 1")
    alike = len(shape) == 2 or len({*shape}) == 1
    check(alike, "all dimensions of input must be of equal length")
    place = np.arange(min(shape))
    aten.index_put_(
        self,
        (PUBLIC["torch"]["from_numpy"](place),) * len(shape),
        as_tensors("aten::fill_", fill_value, self)[0].to(self.dtype),
    )
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        _fill_diagonal(self[shape[1] + 1 :], fill_value, True)
    return self


_DTYPES = "float:float32 double:float64 half:float16 long:int64 int:int32 byte:uint8 bool:bool_ "
_DTYPES += "char:int8 short:int16 cfloat:complex64 cdouble:complex128"
_METHODS: dict[str, Any] = {
    **{f"new_{make}": _new(make) for make in "zeros ones empty full tensor".split()},
    "type": _type,
    "new": _new_like,
    "resize_": _resize,
    "resize_as_": lambda self, other, memory_format=None: _resize(self, other.array.shape),
    "storage_offset": _offset,
    "type_as": lambda self, other: self.to(other),
    "where": lambda self, condition, other: PUBLIC["torch"]["where"](condition, self, other),
    "bfloat16": lambda self, memory_format=None: _cast(dtypes.bfloat16)(self, memory_format),
    **{n: _cast(getattr(np, t)) for n, t in (pair.split(":") for pair in _DTYPES.split())},
    "cpu": lambda self, memory_format=None: self.to("cpu") if storages else self,
    "cuda": _cuda,
    "pin_memory": _pinned,
    "is_pinned": is_pinned,
    "record_stream": lambda self, stream: current().record_stream(self, stream),
    "tolist": _to_list,
    "size": lambda self, dim=None: self.shape if dim is None else self.array.shape[dim],
    **dict.fromkeys(("numel", "nelement"), lambda input: input.array.size),
    **dict.fromkeys(("dim", "ndimension"), lambda self: self.array.ndim),
    "stride": lambda self: tuple(s // self.array.itemsize for s in self.array.strides),
    "is_floating_point": lambda input: input.array.dtype.kind in "fV",
    "is_complex": lambda input: input.array.dtype.kind == "c",
    "element_size": lambda self: self.array.itemsize,
    "data_ptr": lambda self: self.array.ctypes.data,
    "get_device": lambda self: -1 if self.device.index is None else self.device.index,
    "share_memory_": lambda self: self,
    "fill_diagonal_": _fill_diagonal,
    "is_signed": lambda self: self.array.dtype.kind not in "bu",
    "is_same_size": lambda self, other: self.array.shape == other.array.shape,
    "is_nonzero": lambda self: bool(self.array.reshape(())) if self.array.size == 1 else bool(self),
    "is_inference": lambda self: self._counter is None,
    "_make_subclass": staticmethod(
        lambda cls, data, require_grad=False: _unpickled(cls, data.array, require_grad)
    ),
    "apply_": lambda self, function: aten.copy_(
        self, PUBLIC["torch"]["tensor"](np.vectorize(function, [self.array.dtype])(self.array))
    ),
}
_WRITERS = "addbmm addmm addmv addr baddbmm atan2 clamp_max clamp_min cumprod cumsum eq "
_WRITERS += "ne lt le gt ge gcd hypot logit nan_to_num xlogy"
_METHODS |= {f"{name}_": _in_place(name) for name in _WRITERS.split()}
_METHODS |= {f"{name}_": _turned(name) for name in "squeeze unsqueeze transpose t swapaxes".split()}


_PROPERTIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shape": (lambda self: Size(self.array.shape), "The sizes of its dimensions."),
    "dtype": (lambda self: self.array.dtype, "The dtype of its elements."),
    "ndim": (lambda self: self.array.ndim, "How many dimensions it has."),
    "T": (lambda self: self.permute(*range(self.array.ndim)[::-1]), "Dimensions reversed."),
    "mT": (lambda self: self.transpose(-2, -1), "The last two changed over."),
    **dict.fromkeys(("H", "mH"), (lambda self: self.conj().mT, "The conjugate transpose.")),
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
    "greater:gt less:lt clip:clamp arctan2:atan2 arcsin:asin arccos:acos arctan:atan arcsinh:asinh "
    "arccosh:acosh arctanh:atanh fix:trunc greater_equal:ge less_equal:le not_equal:ne "
    "moveaxis:movedim concatenate:cat true_divide_:div_ arctan2_:atan2_ "
    "conj_physical:conj less_:lt_ greater_:gt_ swapdims_:swapaxes_ "
    "swapdims:swapaxes ger:outer row_stack:vstack negative_:neg_ multiply_:mul_ clip_:clamp_ "
    "subtract_:sub_ divide_:div_ absolute_:abs_"
)
for _place in PUBLIC.values():
    _place |= {a: _place[n] for a, n in (p.split(":") for p in _ALIASES.split()) if n in _place}
for _name, _function in PUBLIC["tensor"].items():
    setattr(Tensor, _name, _function)
for _name, _function in (*_OPERATORS.items(), *_METHODS.items()):
    setattr(Tensor, _name, _function)
_AS_FUNCTIONS = "numel is_floating_point is_complex is_signed is_same_size is_nonzero is_inference "
_AS_FUNCTIONS += "resize_as_ nan_to_num_"
for _name in _AS_FUNCTIONS.split():
    PUBLIC["torch"][_name] = _METHODS[_name]
for _name in "celu selu prelu rrelu threshold hardshrink dropout".split():
    PUBLIC["torch"][_name] = PUBLIC["nn"][_name]
PUBLIC["torch"] |= {"zero_": PUBLIC["tensor"]["zero_"], "fill_": PUBLIC["tensor"]["fill_"]}
for _name, (_read, _doc) in _PROPERTIES.items():
    setattr(Tensor, _name, property(_read, doc=_doc))
