"""PyTorch's tensors and other arguments as tidy.runtime has them; for op_db.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import tidy.runtime as ours

DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
MOST_DIMENSIONS = 64  # numpy's


class Unsupported(Exception):
    """An argument that the runtime has no like of: another layout, a device of its own."""


class Converter:
    """Arguments as the runtime has them; tensors that share memory share it here, too."""

    def __init__(self) -> None:
        self._memory: dict[Any, Any] = {}
        self._alive = list[torch.Tensor]()

    def __call__(self, value: Any) -> Any:  # noqa: PLR0911
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.dtype):
            return dtype_of(value)
        if isinstance(value, torch.device) and value.type == "cpu":
            return ours.device("cpu")
        if isinstance(value, (torch.memory_format, torch.layout)):
            found = getattr(ours, str(value).removeprefix("torch."), None)
            if found is not None:
                return found
        others = torch.device, torch.memory_format, torch.layout, torch.Generator, torch.nn.Module
        if isinstance(value, others):
            raise Unsupported(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self, value))
        if isinstance(value, (list, tuple)):
            return (list if isinstance(value, list) else tuple)(map(self, value))
        if isinstance(value, dict):
            return {key: self(one) for key, one in value.items()}
        return value

    def _tensor(self, value: torch.Tensor) -> Any:
        if value.layout is not torch.strided or value.device.type != "cpu":
            raise Unsupported(f"{value.layout} on {value.device}")
        if value.dim() > MOST_DIMENSIONS:
            raise Unsupported(f"{value.dim()} dimensions")
        plain = value.detach().resolve_conj().resolve_neg()
        storage, dtype = plain.untyped_storage(), np.dtype(dtype_of(value.dtype))
        if value.numel() and not storage.nbytes():
            raise Unsupported("a tensor without its memory")
        key = storage.data_ptr(), dtype
        if key not in self._memory:
            flat = torch.empty(0, dtype=torch.uint8).set_(storage)
            whole = flat.numpy()[: flat.numel() // dtype.itemsize * dtype.itemsize]
            self._memory[key] = ours.as_tensor(np.frombuffer(bytearray(whole.tobytes()), dtype))
            self._alive.append(plain)  # so that no other takes its address
        if not value.numel():
            return ours.as_tensor(np.empty(tuple(plain.shape), dtype)).requires_grad_(
                value.requires_grad
            )
        where = tuple(plain.shape), plain.stride(), plain.storage_offset()
        made = self._memory[key].as_strided(*where).detach()
        return made.requires_grad_() if value.requires_grad else made


def as_ours(value: Any) -> Any:
    """An argument as the runtime has it."""
    return Converter()(value)


def dtype_of(value: torch.dtype) -> Any:
    name = str(value).removeprefix("torch.")
    if name not in DTYPES:
        raise Unsupported(name)
    return getattr(ours, name)


def array_of(value: torch.Tensor) -> np.ndarray:
    """The values of PyTorch's tensor."""
    value = value.detach().resolve_conj().resolve_neg()
    if value.dtype is torch.bfloat16:
        return value.contiguous().view(torch.int16).numpy().view(ours.bfloat16)
    return value.numpy()
