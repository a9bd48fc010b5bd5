"""Op inputs as Kineto records them: `Input Dims`, `Input type`, `Concrete Inputs`, `Input Strides`.

They are kept as raw JSON, one copy of each distinct text, and decoded when asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .raw_columns import Strings

Shape = tuple[Any, ...]

# Bytes of one element by `Input type`.
ITEM_NBYTES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "long int": 8,
    "long": 8, "bool": 1, "unsigned char": 1, "signed char": 1, "short int": 2, "short": 2,
    "c10::complex<float>": 8, "c10::complex<double>": 16, "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1, "c10::Float8_e5m2fnuz": 1,
}  # fmt: skip

_MOST_ELEMENTS = 1 << 62
# Lists of numbers, and lists of such: in nearly all files all shapes and strides are that.
_NUMBERS, _LISTS = {int}, {list}
_SCAN = json.JSONDecoder().raw_decode
_DECODER = json.JSONDecoder(object_hook=str)  # objects would not hash


class CollectiveArgs(NamedTuple):
    """What PyTorch records of a collective of NCCL.

    Attributes:
        name: the collective: `allreduce`, `_allgather_base`.
        dtype: the type of its elements: `Float`, `BFloat16`.
        elements: the number of elements sent or received, whichever is more; 0 if not recorded.
        group: the name of its process group.
        description: what the group is for: `default_pg`, `mesh_tp`.
        ranks: its ranks, as far as they are recorded: of more than 30 the rest is left out.
        size: the number of its ranks, 0 if not recorded.
        seq: the number of the collective in its group, -1 if not recorded.
    """

    name: str
    dtype: str
    elements: int
    group: str
    description: str
    ranks: tuple[int, ...]
    size: int
    seq: int


class Inputs:
    """Decoded inputs by `inputs_id`; an id of -1, or a text that does not decode, gives ()."""

    def __init__(self, strings: Strings) -> None:
        self._texts: list[bytes] = list(strings.texts)
        self._signatures: list[tuple[int, ...]] = list(strings.signatures)
        self._decoded: dict[tuple[int, int], Shape] = {}

    @cached_property
    def dtype_texts(self) -> NDArray[np.int64]:
        """A number for each `inputs_id`: where it is the same the dtypes are."""
        return np.array([signature[1] for signature in self._signatures], np.int64)

    @cached_property
    def shape_texts(self) -> NDArray[np.int64]:
        """A number for each `inputs_id`: where it is the same the dims are."""
        return np.array([signature[0] for signature in self._signatures], np.int64)

    def shapes(self, inputs_id: int) -> Shape:
        """Return the dims of each input: ((4, 3), (), ((2,), (2,))).

        An input that is not a tensor has (), and a list of tensors a tuple of dims. So has what can
        be no shape: a damaged file may hold anything there.
        """
        return self._part(inputs_id, 0, _shapes)

    def dtypes(self, inputs_id: int) -> Shape:
        """Return the C++ type name of each input, "" for None: ("float", "Scalar", "")."""
        return self._part(inputs_id, 1, _dtypes)

    def concrete(self, inputs_id: int) -> Shape:
        """Return the text of each input that is not a tensor, "" for tensors: ("", "0", "True")."""
        return self._part(inputs_id, 2, _values)

    def strides(self, inputs_id: int) -> Shape:
        """Return the strides of each input, () for what is not a tensor."""
        return self._part(inputs_id, 3, _shapes)

    def collective(self, inputs_id: int) -> CollectiveArgs | None:
        """Return what `record_param_comms` says of its collective, None for all other operators."""
        if inputs_id < 0 or len(self._signatures[inputs_id]) < 5:
            return None
        return _collective(self._texts[self._signatures[inputs_id][4]])

    def any_shapes(self, inputs_ids: NDArray[np.int32]) -> bool:
        """Tell whether any of the ids has dims.

        Where shapes were not recorded, Kineto may still write empty lists.
        """
        used = np.unique(inputs_ids[inputs_ids >= 0]).tolist()
        return any(re.search(rb"\d", self._texts[self._signatures[i][0]]) for i in used)

    def _part(self, inputs_id: int, part: int, decode: Callable[[bytes], Shape]) -> Shape:
        if inputs_id < 0:
            return ()
        key = self._signatures[inputs_id][part], part
        known = self._decoded.get(key)
        if known is None:
            known = self._decoded[key] = decode(self._texts[key[0]])
        return known


def _collective(text: bytes) -> CollectiveArgs | None:
    try:
        name, dtype, sent, received, group, description, ranks, size, seq = json.loads(text)
        if isinstance(ranks, str):
            # More than 30 are `[0, 1, ..., 29, ...]`.
            ranks = [int(each) for each in re.findall(r"\d+", ranks)]
        return CollectiveArgs(
            name=str(name or ""),
            dtype=str(dtype or ""),
            elements=max(_count(sent), _count(received)),
            group="" if group is None else str(group),
            description=str(description or ""),
            ranks=tuple(map(_count, ranks or ())),
            size=_count(size),
            seq=-1 if seq is None else _count(seq),
        )
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _count(value: Any) -> int:
    number = int(value or 0)
    if abs(number) >= _MOST_ELEMENTS:
        raise ValueError(value)
    return number


def is_dims(shape: object) -> bool:
    """Tell whether a shape is that of one tensor (or (), which is also what other inputs have)."""
    # It is asked so often that a generator would count.
    return isinstance(shape, tuple) and all(map(int.__instancecheck__, shape))


def _shapes(text: bytes) -> Shape:
    try:
        value, end = _SCAN(text.decode(), 0)
        if end == len(text) and type(value) is list:
            return tuple([_dims_or_list(each) for each in value])
    except (TypeError, ValueError, RecursionError):
        pass  # numbers between the lists, or damage
    return tuple(map(_shape, _values(text)))


def _dims_or_list(value: list[Any]) -> Shape:
    """The same as `_shape` of a list of numbers, or of such lists.

    Raises:
        TypeError: it is neither.
    """
    if type(value) is not list:
        raise TypeError
    kinds = set(map(type, value))
    if kinds <= _NUMBERS:
        return tuple(value) if abs(prod(value)) < _MOST_ELEMENTS else ()
    if kinds == _LISTS and set(map(type, chain.from_iterable(value))) <= _NUMBERS:
        return tuple([_dims(tuple(each)) for each in value])
    raise TypeError


def _dtypes(text: bytes) -> Shape:
    return tuple(map(str, _values(text)))


def _values(text: bytes) -> Shape:
    try:
        value = _json(text) if text else []
        return _tuples(value) if isinstance(value, list) else ()
    except (ValueError, RecursionError):
        return ()


def _json(text: bytes) -> Any:
    """What a text means. `json.loads` would make a decoder for each and tell its encoding first."""
    if text[:1] == b"[" and b"\0" not in text:
        return _DECODER.decode(text.decode("utf-8", "surrogatepass"))
    return json.loads(text, object_hook=str)


def _tuples(value: list[Any]) -> Shape:
    if list not in map(type, value):
        return tuple(value)
    return tuple([_tuples(each) if isinstance(each, list) else each for each in value])


def _shape(value: Any) -> Shape:
    """Dims of one tensor, or of each tensor of a list; () for what is neither."""
    if isinstance(value, tuple) and any(isinstance(each, tuple) for each in value):
        return tuple(map(_dims, value))
    return _dims(value)


def _dims(value: Any) -> Shape:
    if not isinstance(value, tuple):
        return ()
    is_shape = all(isinstance(size, int) and not isinstance(size, bool) for size in value)
    return value if is_shape and abs(prod(value)) < _MOST_ELEMENTS else ()
