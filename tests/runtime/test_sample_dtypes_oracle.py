"""The samples in other dtypes: the result's dtype and shape as PyTorch's, or both raise."""

import re

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.ops.table import PUBLIC

from .dtype_deviations import DEVIATIONS
from .samples import SAMPLES, arrays, evaluate
from .samples_in_place import IN_PLACE
from .samples_plain import PLAIN, names, seen

pytestmark = pytest.mark.oracle
KNOWN = {name for each in PUBLIC.values() for name in each} - {"t"}
ERRORS = (RuntimeError, TypeError, ValueError, IndexError)


def subject(code):
    """The operator that a sample is of: the first public name in it, or all of it."""
    words = re.findall(r"lambda t: t\.(\w+)", code) or re.findall(r"\w+", code)
    return next((n for n in words if n in KNOWN), code)


def kinds(value):
    if isinstance(value, list):
        return [kinds(v) for v in value]
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape
    return type(value).__name__


def found(lib, sample, dtype):
    try:
        with np.errstate(all="ignore"):
            if isinstance(sample, str):
                return kinds(seen(eval(sample, names(lib, dtype))))  # noqa: S307
            tensors = [lib.tensor(a).to(getattr(lib, dtype)) for a in arrays(sample)]
            return kinds(seen(evaluate(lib, sample, tensors)))
    except ERRORS:
        return "raises"


def samples(dtype):
    yield from ((s.code, s) for s in (*SAMPLES, *IN_PLACE))
    if dtype not in {"uint8", "bool"}:
        yield from ((code, code) for code in PLAIN if re.search(r"\b[xy]\b", code))


def differences(torch, dtype):
    differ = {}
    for code, sample in samples(dtype):
        ours, theirs = found(rt, sample, dtype), found(torch, sample, dtype)
        if ours != theirs:
            differ.setdefault(subject(code), []).append((code, ours, theirs))
    return differ


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", "float32 float16 complex64 int64 uint8 bool".split())
def test_as_pytorch(dtype):
    differ = differences(pytest.importorskip("torch"), dtype)
    listed = {n for rows in DEVIATIONS.values() for n in rows.get(dtype, ())}
    assert {n: v for n, v in differ.items() if n not in listed} == {}
    assert listed - set(differ) == set()
