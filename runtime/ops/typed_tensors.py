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
    on_device: bool

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        if not cls.on_device:
            return legacy_tensor(data, cls.dtype, device)
        found: Tensor = legacy_tensor(data, cls.dtype).to("cuda" if device is None else device)
        return found

    def __instancecheck__(cls, one: Any) -> bool:
        fits = isinstance(one, Tensor) and one.array.dtype == cls.dtype
        return fits and one.is_cuda == cls.on_device


_KINDS = "float16:Half float32:Float float64:Double int8:Char int16:Short int32:Int int64:Long "
_KINDS += "uint8:Byte bool:Bool"
ON_DEVICE: dict[str, Any] = {}  # torch.cuda.FloatTensor and the like, by their names
for _pair in _KINDS.split():
    _name, _kind = _pair.split(":")
    for _home, _on_device in ((PUBLIC["torch"], False), (ON_DEVICE, True)):
        _module = "tidy.runtime.cuda" if _on_device else "tidy.runtime"
        _body = {"dtype": np.dtype(_name), "on_device": _on_device, "__module__": _module}
        _home[f"{_kind}Tensor"] = _Kind(f"{_kind}Tensor", (), _body)
