"""Op inputs as Kineto records them: `Input Dims`, `Input type`, `Concrete Inputs`, `Input Strides`.

They are kept as raw JSON, one copy of each distinct text, and decoded when asked for.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Strings

Shape = tuple[Any, ...]

# Bytes of one element by `Input type`.
ITEM_NBYTES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "long int": 8,
    "long": 8, "bool": 1, "unsigned char": 1, "signed char": 1, "short int": 2, "short": 2,
    "c10::complex<float>": 8, "c10::complex<double>": 16, "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1, "c10::Float8_e5m2fnuz": 1,
}  # fmt: skip


class Inputs:
    """Decoded inputs by `inputs_id`; an id of -1, or a text that does not decode, gives ()."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._decoded: dict[int, Shape] = {}

    @cached_property
    def _texts(self) -> list[bytes]:
        return list(self._strings.texts)

    @cached_property
    def _signatures(self) -> list[tuple[int, int, int, int]]:
        return list(self._strings.signatures)

    def shapes(self, inputs_id: int) -> Shape:
        """Dims of each input, a tensor list one level deeper: ((4, 3), (), ((2,), (2,)))."""
        return self._part(inputs_id, 0)

    def dtypes(self, inputs_id: int) -> Shape:
        """C++ type name of each input, "" for None: ("float", "Scalar", "")."""
        return self._part(inputs_id, 1)

    def concrete(self, inputs_id: int) -> Shape:
        """Text of each input that is no tensor: ("", "0", "True")."""
        return self._part(inputs_id, 2)

    def strides(self, inputs_id: int) -> Shape:
        return self._part(inputs_id, 3)

    def any_shapes(self, inputs_ids: NDArray[np.int32]) -> bool:
        """Whether any of the ids has dims; without shapes Kineto may still write empty lists."""
        used = np.unique(inputs_ids[inputs_ids >= 0]).tolist()
        return any(re.search(rb"\d", self._texts[self._signatures[i][0]]) for i in used)

    def _part(self, inputs_id: int, part: int) -> Shape:
        if inputs_id < 0:
            return ()
        text = self._signatures[inputs_id][part]
        if text not in self._decoded:
            self._decoded[text] = _decode(self._texts[text])
        return self._decoded[text]


def _decode(text: bytes) -> Shape:
    try:
        value = json.loads(text, object_hook=str) if text else []  # objects would not hash
        return _tuples(value) if isinstance(value, list) else ()
    except (ValueError, RecursionError):
        return ()


def _tuples(value: list[Any]) -> Shape:
    return tuple(_tuples(each) if isinstance(each, list) else each for each in value)
