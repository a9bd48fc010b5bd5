"""Samples into batches. Source: torch/utils/data/_utils/collate.py, pin_memory.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from typing import Any

import numpy as np

from ..ops.creation import tensor
from ..ops.table import aten
from ..tensor import Tensor, wrap

_BAD = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found"


def _like(old: Any, found: Any) -> Any:
    """The dict or list `found` as the class of container that `old` is, where it can be."""
    if hasattr(old, "_fields"):  # a namedtuple
        return type(old)(*found)
    try:
        if not isinstance(old, (MutableMapping, MutableSequence)):
            return type(old)(found)
        new: Any = copy(old)
        for key, value in found.items() if isinstance(found, dict) else enumerate(found):
            new[key] = value
    except TypeError:
        return found
    return new


def default_collate(batch: Any) -> Any:
    """N samples as one batch: what is `(...)` in a sample becomes a tensor `(N, ...)`.

    Strings stay a list; containers keep their class, but tuples become lists. TypeError if a
    sample holds something else, RuntimeError if samples differ in shape or length.
    """
    first = batch[0]
    found: Any
    if isinstance(first, Tensor):
        found = aten.stack(batch, 0)
    elif isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        found = aten.stack([wrap(array) for array in batch], 0)
    elif isinstance(first, (np.bool_, np.number)):
        found = wrap(np.array(batch))
    elif isinstance(first, (float, int)):
        found = tensor(batch, dtype=np.float64 if isinstance(first, float) else None)
    elif isinstance(first, (str, bytes)):
        found = batch
    elif isinstance(first, Mapping):
        found = {key: default_collate([sample[key] for sample in batch]) for key in first}
        found = _like(first, found)
    elif isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        found = [default_collate(column) for column in zip(*batch, strict=True)]
        found = found if type(first) is tuple else _like(first, found)
    else:
        raise TypeError(f"{_BAD} {getattr(first, 'dtype', type(first))}")
    return found


def _apply(change: Callable[[Any], Any], data: Any, tuples: type) -> Any:
    """`data` with `change` done to whatever is no container; its plain tuples as `tuples`."""
    if isinstance(data, Mapping):
        return _like(data, {key: _apply(change, data[key], tuples) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        found = [_apply(change, value, tuples) for value in data]
        return tuples(found) if type(data) is tuple else _like(data, found)
    return change(data)


def _convert(value: Any) -> Any:
    numeric = isinstance(value, (np.ndarray, np.bool_, np.number)) and value.dtype.kind not in "SUO"
    return wrap(value) if numeric else value


def default_convert(data: Any) -> Any:
    """One sample, its arrays and numpy numbers as tensors, its tuples as lists."""
    return _apply(_convert, data, list)


def _pin(value: Any) -> Any:
    if isinstance(value, Tensor):
        value.__dict__["_pinned"] = True
        return value
    return value.pin_memory() if hasattr(value, "pin_memory") else value


def pin_memory(data: Any) -> Any:
    """Mark each tensor as pinned. Nothing is copied: there is no device to copy to."""
    return _apply(_pin, data, tuple)
