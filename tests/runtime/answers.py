"""Answers to questions about the runtime: how they are written down, read back and compared.

An answer is made of lists, numbers, words, None and numpy arrays. In a file of answers an array is
`{"float64[3,4]": [numbers in row-major order]}`, complex numbers are pairs, and all else is as JSON
has it, with NaN and Infinity.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "data" / "golden"

Tolerance = Callable[[np.dtype], tuple[float, float]]  # of a dtype: relative, absolute


def plain(value: Any) -> Any:
    """The same answer with lists for tuples, and arrays for the tensors of either library."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "numpy"):
        value = value.numpy(force=True)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str, np.ndarray)):
        return value
    raise TypeError(f"no answer: {value!r}")


def encoded(answer: Any) -> Any:
    if isinstance(answer, list):
        return [encoded(each) for each in answer]
    if isinstance(answer, complex):
        return {"complex": [answer.real, answer.imag]}
    if isinstance(answer, np.ndarray):
        shape = ",".join(map(str, answer.shape))
        flat = np.ascontiguousarray(answer).reshape(-1)
        if flat.dtype.kind == "c":
            flat = flat.view(flat.real.dtype)
        # A float32 is written with the digits that it needs, not with those of its double.
        numbers = [float(str(x)) for x in flat] if flat.dtype.kind == "f" else flat.tolist()
        return {f"{answer.dtype.name}[{shape}]": numbers}
    return answer


def decoded(answer: Any) -> Any:
    if isinstance(answer, list):
        return [decoded(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    ((kind, numbers),) = answer.items()
    if kind == "complex":
        return complex(*numbers)
    match = re.fullmatch(r"(\w+)\[([\d,]*)\]", kind)
    assert match is not None
    dtype, shape = np.dtype(match[1]), tuple(int(n) for n in match[2].split(",") if n)
    if dtype.kind == "c":
        parts = np.array(numbers, "float32" if dtype.itemsize == 8 else "float64")
        return parts.view(dtype).reshape(shape)
    return np.array(numbers, dtype).reshape(shape)


def write(name: str, answers: dict[str, Any]) -> None:
    """A file with a line for each question, sorted as the questions are."""
    lines = [f"{json.dumps(key)}: {json.dumps(encoded(a))}" for key, a in answers.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    GOLDEN.mkdir(parents=True, exist_ok=True)
    (GOLDEN / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")


def read(name: str) -> dict[str, Any]:
    """What PyTorch answered, by question."""
    recorded = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return {key: decoded(answer) for key, answer in recorded.items()}


def same(ours: Any, theirs: Any, tolerance: Tolerance, of_numbers: float = 0.0) -> None:
    """Fail unless two answers are equal, arrays up to the tolerance of their dtype.

    `of_numbers` is the tolerance, relative and absolute, of floating-point numbers.
    """
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, list):
        assert len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, tolerance, of_numbers)
    elif isinstance(ours, float) and of_numbers:
        assert math.isclose(ours, theirs, rel_tol=of_numbers, abs_tol=of_numbers), (ours, theirs)
    elif isinstance(ours, np.ndarray):
        close(ours, theirs, *tolerance(ours.dtype))
    else:
        assert ours == theirs


def close(ours: np.ndarray, theirs: np.ndarray, rtol: float, atol: float) -> None:
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def identical(ours: Any, theirs: Any) -> None:
    """Fail unless two answers, of tensors or arrays, are equal to the last bit."""
    same(plain(ours), plain(theirs), lambda _: (0.0, 0.0))


def padded(ours: list[np.ndarray], theirs: list[np.ndarray], rtol: float, atol: float) -> None:
    """Fail unless the arrays are close.

    What one of the two has alone has to be zero: it says that a gradient is zero, where the other
    says that there is nothing to differentiate.
    """
    for a, b in zip(ours, theirs, strict=False):
        close(a, b, rtol, atol)
    for rest in (*ours[len(theirs) :], *theirs[len(ours) :]):
        assert not rest.any()


def is_as_recorded(today: Any, recorded: Any, by_float32: bool = False) -> bool:
    """Whether PyTorch answers as it did, up to what another processor's arithmetic may change.

    Args:
        by_float32: doubles were multiplied with something that PyTorch holds in float32.
    """
    digits = {2: 1e-3, 4: 1e-5, 8: 1e-7 if by_float32 else 1e-9}
    try:
        same(
            today,
            recorded,
            lambda kind: (digits.get(np.zeros(1, kind).real.itemsize, 0),) * 2,
            1e-5,
        )
    except AssertionError:
        return False
    return True
