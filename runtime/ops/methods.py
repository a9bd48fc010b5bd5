"""Puts the operators on Tensor, as its operators and methods."""

# ruff: noqa: ARG005, PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Size, Tensor
from . import activation as act
from . import conversion as conv
from . import elementwise as el
from . import indexing as ix
from . import joining as jo
from . import matrix as mx
from . import norm as nm
from . import reduction as red
from . import views as vw
from .in_place import inplace
from .table import as_tensors


def _reversed(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Tensor, other: Any) -> Any:
        return function(other, self)

    return call


def _rpow(self: Tensor, other: Any) -> Any:
    return el.pow(*as_tensors("aten::pow", other), self)


def _property(read: Callable[[Any], Any], doc: str) -> property:
    return property(read, doc=doc)


_OPERATORS: dict[str, Any] = {
    "add": el._add,
    "radd": el._add,
    "sub": el._sub,
    "rsub": _reversed(el._sub),
    "mul": el.mul,
    "rmul": el.mul,
    "truediv": el._div,
    "rtruediv": _reversed(el._div),
    "floordiv": el.floor_divide,
    "rfloordiv": _reversed(el.floor_divide),
    "mod": el.remainder,
    "rmod": _reversed(el.remainder),
    "pow": el.pow,
    "rpow": _rpow,
    "matmul": mx.matmul,
    "rmatmul": _reversed(mx.matmul),
    "neg": el.neg,
    "pos": el.positive,
    "abs": el.abs,
    "invert": el.bitwise_not,
    "and": el.bitwise_and,
    "or": el.bitwise_or,
    "xor": el.bitwise_xor,
    "eq": el.eq,
    "ne": el.ne,
    "lt": el.lt,
    "le": el.le,
    "gt": el.gt,
    "ge": el.ge,
    "iadd": el.add_,
    "isub": el.sub_,
    "imul": el.mul_,
    "itruediv": el.div_,
    "ipow": el.pow_,
    "getitem": ix.getitem,
    "setitem": ix.setitem,
    "len": lambda self: self.array.shape[0] if self.array.ndim else _no_length(),
    "iter": lambda self: iter(vw.unbind(self, 0)) if self.array.ndim else _no_length(),
    "bool": conv.as_bool,
    "float": lambda self: float(conv.item(self)),
    "int": lambda self: int(conv.item(self)),
    "index": lambda self: conv.item(self),
    "repr": conv.text,
    "hash": lambda self: id(self),
    "array": lambda self, dtype=None, copy=None: np.asarray(conv.numpy(self), dtype),
}


def _no_length() -> Any:
    raise TypeError("iteration over a 0-d tensor, or its len(), is not possible")


_ELEMENTWISE = """
    mul maximum minimum atan2 remainder fmod floor_divide neg abs sign sgn positive exp
    expm1 exp2 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan asin acos atan
    sinh cosh tanh asinh acosh atanh floor ceil trunc round frac clone isnan isinf isfinite
    logical_not bitwise_not eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and
    bitwise_or bitwise_xor clamp masked_fill lerp addcmul addcdiv add_ sub_ mul_ div_ pow_
    masked_fill_ clamp_ zero_ lerp_ addcmul_ addcdiv_ add sub div pow
""".split()
_REDUCTION = """
    sum mean prod var std amax amin argmax argmin cumsum cumprod logsumexp max min all
    any sum_to_size
""".split()
_VIEWS = """
    t transpose permute reshape expand squeeze unsqueeze select unfold diagonal flatten
    narrow split chunk unbind
""".split()
_JOINING = "repeat flip roll tril triu movedim".split()
_INDEXING = """
    index_put index_put_ gather scatter scatter_add scatter_ scatter_add_ index_select
    index_add masked_select copy_ fill_
""".split()
_MATRIX = "mm bmm mv dot outer matmul addmm".split()
_ACTIVATION = "sigmoid relu softmax log_softmax erf".split()
_CONVERSION = "to detach detach_ contiguous numpy item size".split()

for _module, _names in (
    (el, _ELEMENTWISE),
    (red, _REDUCTION),
    (nm, ["norm"]),
    (vw, _VIEWS),
    (jo, _JOINING),
    (ix, _INDEXING),
    (mx, _MATRIX),
    (act, _ACTIVATION),
    (conv, _CONVERSION),
):
    for _name in _names:
        setattr(Tensor, _name, getattr(_module, _name))
for _name, _function in _OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _function)
for _source in (*el.UNARY_INPLACE, act.sigmoid, act.relu):
    _name = _source.__name__ + "_"
    setattr(Tensor, _name, inplace(f"aten::{_name}", _source))

_EXTRA: dict[str, Any] = {
    "view": vw.tensor_view,
    "__reduce__": lambda self: (_unpickled, (type(self), self.array, self._rg)),
    "__deepcopy__": lambda self, memo: _copied(self, memo),
    "absolute": el.abs,
    "multiply": el.mul,
    "view_as": lambda self, other: vw.tensor_view(self, other.array.shape),
    "expand_as": lambda self, other: vw.expand(self, other.array.shape),
    "reshape_as": lambda self, other: vw.reshape(self, other.array.shape),
    "type_as": lambda self, other: conv.to(self, other.array.dtype),
    "where": lambda self, condition, other: el.where(condition, self, other),
    "float": lambda self: conv.to(self, np.float32),
    "double": lambda self: conv.to(self, np.float64),
    "half": lambda self: conv.to(self, np.float16),
    "long": lambda self: conv.to(self, np.int64),
    "int": lambda self: conv.to(self, np.int32),
    "bool": lambda self: conv.to(self, np.bool_),
    "cpu": lambda self: self,
    "tolist": lambda self: self.array.tolist(),
    "numel": lambda self: self.array.size,
    "dim": lambda self: self.array.ndim,
    "stride": lambda self: tuple(s // self.array.itemsize for s in self.array.strides),
    "is_contiguous": lambda self: self.array.flags.c_contiguous,
    "is_floating_point": lambda self: self.array.dtype.kind == "f",
    "element_size": lambda self: self.array.itemsize,
    "data_ptr": lambda self: self.array.ctypes.data,
    "new_zeros": lambda self, *size, dtype=None: _new(np.zeros, self, size, dtype),
    "new_ones": lambda self, *size, dtype=None: _new(np.ones, self, size, dtype),
    "shape": _property(lambda self: Size(self.array.shape), "The sizes of its dimensions."),
    "dtype": _property(lambda self: self.array.dtype, "The dtype of its elements."),
    "ndim": _property(lambda self: self.array.ndim, "How many dimensions it has."),
    "T": _property(
        lambda self: vw.permute(self, *range(self.array.ndim)[::-1]), "Dimensions reversed."
    ),
    "mT": _property(lambda self: vw.transpose(self, -2, -1), "The last two changed over."),
    "real": _property(lambda self: real(self), "The real part."),
    "device": _property(lambda self: "cpu", "Always the CPU."),
    "is_cuda": _property(lambda self: False, "Never."),
    "is_sparse": _property(lambda self: False, "Never."),
    "nbytes": _property(lambda self: self.array.nbytes, "Bytes of its elements."),
}


def real(self: Tensor) -> Tensor:
    """The real part, as a view; a real tensor is its own."""
    if self.array.dtype.kind != "c":
        return self
    from ..tensor import wrap

    return wrap(self.array.real)


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


def _new(make: Any, self: Tensor, size: Any, dtype: Any) -> Tensor:
    from ..tensor import wrap

    return wrap(make(vw.sizes(size), self.array.dtype if dtype is None else dtype))


for _name, _function in _EXTRA.items():
    setattr(Tensor, _name, _function)
