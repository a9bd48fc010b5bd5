"""What is recorded of an operator's inputs: shapes, dtypes, strides, and the values of scalars.

An operator's arguments are turned into a signature at once, since holding on to tensors would
change what the program uses; the texts that a trace has are made of signatures later, once each.
Source: torch/csrc/profiler/collection.cpp (InputOutputEncoder), output_json.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from json import dumps
from typing import Any, NamedTuple

import numpy as np

from ..trace.raw_columns import Interner

# (array's shape, dtype and strides in bytes) of a tensor; a text for a scalar; and so on.
Signature = tuple[Any, ...]

# dtype -> (C++ type name, number of c10::ScalarType)
_DTYPES = {
    "uint8": ("unsigned char", 0),
    "int8": ("signed char", 1),
    "int16": ("short int", 2),
    "int32": ("int", 3),
    "int64": ("long int", 4),
    "float16": ("c10::Half", 5),
    "float32": ("float", 6),
    "float64": ("double", 7),
    "complex64": ("c10::complex<float>", 9),
    "complex128": ("c10::complex<double>", 10),
    "bool": ("bool", 11),
    "bfloat16": ("c10::BFloat16", 15),
}
_PRINTED_IN_FULL = 1e10
_SCALARS = (bool, int, float, complex, np.generic)


class _Value(NamedTuple):
    """An input that is no tensor: the text of numbers, or several tensors."""

    kind: str
    text: str = ""
    tensors: tuple[Any, ...] = ()


tensor_types: set[Any] = set()  # found so far
_ATOMS = frozenset((int, float, bool, complex, str, type(None)))


def describe_all(inputs: Iterable[Any]) -> Signature:
    """Return a signature but for its scalars, which `InputTable` turns into texts when there is
    time.
    """
    found = []
    for x in inputs:
        kind = type(x)  # `__class__` may be anything, and may fail
        if kind in tensor_types:
            array = x.array
            found.append((array.shape, array.dtype, array.strides))
        else:
            found.append(x if kind in _ATOMS else _describe(x))
    return tuple(found)


def _describe(x: Any) -> Any:
    try:
        array = getattr(x, "array", None)
        if isinstance(array, np.ndarray):
            tensor_types.add(x.__class__)
            return (array.shape, array.dtype, array.strides)
        if isinstance(x, np.dtype):
            return _scalar(_DTYPES.get(x.name, ("", ""))[1])
        if isinstance(x, _SCALARS):
            return _scalar(x)
        several = x if isinstance(x, (tuple, list)) else ()
        if several and all(isinstance(getattr(y, "array", None), np.ndarray) for y in several):
            return _Value("TensorList", tensors=tuple(map(_describe, several)))
        is_numbers = several and all(isinstance(y, _SCALARS) for y in several)
        return _Value("ScalarList", f"[{', '.join(map(_number, several))}]") if is_numbers else None
    except Exception:  # what fails when it is asked what it is has no description
        return None


def _scalar(x: Any) -> _Value:
    return _Value("Scalar", _number(x))


def _number(x: Any) -> str:
    """A number as PyTorch prints it (ivalue.cpp): `4.`, and 17 digits where there is a fraction."""
    if not isinstance(x, (float, np.floating)):
        return str(x)
    value = float(x)
    if value.is_integer() and abs(value) < _PRINTED_IN_FULL:
        return f"{value:.0f}."
    return f"{value:.17g}"


class InputTexts(NamedTuple):
    """The JSON of `Input Dims`, `Input type`, `Concrete Inputs` and `Input Strides`."""

    dims: str
    types: str
    concrete: str
    strides: str


class InputTable:
    """The texts of all signatures, each distinct one once."""

    def __init__(self) -> None:
        self.texts: list[InputTexts] = []
        self._numbers = Interner()

    def number(self, signature: Signature | None) -> int:
        """Return the place in `texts` of what `describe_all` gave; -1 for none."""
        if signature is None:
            return -1
        # With scalars as texts: 1, 1.0 and True are equal, their texts are not.
        settled = tuple(
            [
                _scalar(x) if isinstance(x, _SCALARS) else None if type(x) is str else x
                for x in signature
            ]
        )
        number = self._numbers[settled]
        if number == len(self.texts):
            parts = [_texts_of(one) for one in settled]
            columns = zip(*parts, strict=True) if parts else ((), (), (), ())
            self.texts.append(InputTexts(*(dumps(list(column)) for column in columns)))
        return number


def _texts_of(one: Any) -> tuple[Any, str, str, Any]:
    """(dims, type, value, strides in elements) of one input."""
    if isinstance(one, _Value):
        inner = [_texts_of(each) for each in one.tensors]
        return [each[0] for each in inner], one.kind, one.text, [each[3] for each in inner]
    if one is None:
        return [], "", "", []
    shape, dtype, strides = one
    elements = [n // dtype.itemsize for n in strides] if dtype.itemsize else list(strides)
    return list(shape), _DTYPES.get(dtype.name, (dtype.name, 0))[0], "", elements
