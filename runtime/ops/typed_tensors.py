"""`torch.Tensor(...)`, and LongTensor, FloatTensor and the like, which make tensors of one dtype.

Source: torch/csrc/utils/tensor_new.cpp, torch/csrc/tensor/python_tensor.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import get_default_dtype
from ..engine.hooks import check
from ..engine.tensor import Size, Tensor
from .creation import tensor
from .make import PUBLIC, function


@function("")
def legacy_tensor(data: tuple[Any, ...], dtype: Any = None, device: Any = None) -> Tensor:
    """Return what `torch.Tensor(*data)`, `torch.LongTensor(*data)` and the like make.

    Sizes make a tensor of any values; a list, or an array, one with its values.
    """
    kind = get_default_dtype() if dtype is None else dtype
    first = data[0] if len(data) == 1 else None
    if isinstance(first, Tensor):
        fits = dtype is None or first.array.dtype == dtype
        check(fits, f"expected a tensor of {kind} (got one of {first.dtype})", TypeError)
        return aten.alias(first)
    if isinstance(first, (str, bytes, float, complex, dict, set)) or (data and data[0] is None):
        raise TypeError(f"new(): invalid data type {type(first).__name__!r}")
    if first is None or isinstance(first, (int, np.integer, Size)):
        shape = first if isinstance(first, Size) else data or (0,)
        whole = all(isinstance(size, (int, np.integer)) for size in shape)
        check(whole, "new(): sizes have to be integers", TypeError)
        return aten.empty(*shape, dtype=kind)
    return tensor(first, dtype=kind, device=device)


class _Kind(type):
    """The class of LongTensor and its like, of which those tensors are instances."""

    dtype: Any

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        return legacy_tensor(data, cls.dtype, device)

    def __instancecheck__(cls, one: Any) -> bool:
        return isinstance(one, Tensor) and one.array.dtype == cls.dtype


_KINDS = "float16:Half float32:Float float64:Double int8:Char int16:Short int32:Int int64:Long "
_KINDS += "uint8:Byte bool:Bool"
for _pair in _KINDS.split():
    _name, _kind = _pair.split(":")
    _made = _Kind(f"{_kind}Tensor", (), {"dtype": np.dtype(_name), "__module__": __name__})
    PUBLIC["torch"][f"{_kind}Tensor"] = _made
