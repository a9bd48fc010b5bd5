"""Allocations and frees, as they are seen from the operators that make arrays.

An array counts from the end of the operator that made it, under which it is first seen, to the
moment it is freed. What is made outside operators (numpy's own work space, arrays that the script
makes) is not seen. Source: c10::reportMemoryUsageToProfiler, torch/csrc/profiler/collection.cpp.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from threading import get_ident
from time import perf_counter_ns as clock
from typing import Any

import numpy as np

from ..runtime.accelerator import accelerators
from .signatures import tensor_types


class MemoryLog:
    """Changes of the host's memory, in the order in which they were seen.

    Each is (time, thread, address, bytes, whether there were none left); bytes are negative when
    memory is freed. An address is the array's identity, which is its own while it is alive. What
    tensors of a modelled device hold is left out: the device has a log of its own.
    """

    def __init__(self) -> None:
        self.changes: list[tuple[int, int, int, int, bool]] = []
        self._alive: dict[int, weakref.ref[Any]] = {}

    def note(self, made: Any, inputs: Iterable[Any]) -> None:
        """Note that an operator gave `made` (a tensor, several, or anything else) for `inputs`."""
        if made.__class__ in tensor_types:
            if accelerators and made.device.type != "cpu":
                return
            array = made.array
            if array.base is not None:
                self._note_view(array, inputs)
            elif id(array) not in self._alive:
                for x in inputs:
                    if x.__class__ in tensor_types and x.array is array:
                        self._watch(array, is_new=False)
                        return
                self._watch(array, is_new=True)
        elif isinstance(made, (tuple, list)):
            for each in made:
                self.note(each, inputs)
        elif isinstance(getattr(made, "array", None), np.ndarray):
            tensor_types.add(made.__class__)
            self.note(made, inputs)

    def _note_view(self, array: Any, inputs: Iterable[Any]) -> None:
        """The memory is that of an input, or else it is new."""
        array = _root(array)
        if id(array) not in self._alive and array.flags.owndata:
            self._watch(array, is_new=all(array is not root for root in _roots(inputs)))

    def _watch(self, array: Any, is_new: bool) -> None:
        """Remember an array; one that was there before is not counted."""
        key, nbytes = id(array), array.nbytes if is_new else 0
        self._alive[key] = weakref.ref(array, partial(self._freed, key, nbytes))
        if is_new:
            self.changes.append((clock(), get_ident(), key, nbytes, False))

    def _freed(self, key: int, nbytes: int, _: object) -> None:
        if self._alive.pop(key, None) is not None and nbytes:
            self.changes.append((clock(), get_ident(), key, -nbytes, False))

    def failed(self, error: MemoryError) -> None:
        """Note that an operator ran out of memory; numpy says how much it asked for."""
        shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
        nbytes = int(np.prod(shape, dtype=object)) * dtype.itemsize if shape and dtype else 0
        self.changes.append((clock(), get_ident(), 0, nbytes, True))

    def stop(self) -> None:
        """Frees from now on are not seen."""
        self._alive.clear()


def _roots(inputs: Iterable[Any]) -> Iterator[Any]:
    """The arrays that own the memory of tensors."""
    for x in inputs:
        if isinstance(x, (tuple, list)):
            yield from _roots(x)
        elif isinstance(getattr(x, "array", None), np.ndarray):
            yield _root(x.array)


def _root(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
