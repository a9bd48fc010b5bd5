"""Wrong calls raise as in PyTorch: an error of the same class."""

import numpy as np
import pytest

import tidy.runtime as rt

from .wrong_calls import CALLS, DEVIATIONS

pytestmark = pytest.mark.oracle
CLASSES = (IndexError, ValueError, TypeError, AttributeError, RuntimeError)
LISTED = {code: ends for rows in DEVIATIONS.values() for code, ends in rows.items()}


def end(lib, code):
    """The class of the error, by name, or `no error`."""
    tensor = lib.tensor
    given = {
        "x": tensor(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "y": tensor(np.ones((4, 5), np.float32)),
        "k": tensor(np.arange(6).reshape(2, 3)),
        "b": tensor(np.arange(6).reshape(2, 3) > 2),
        "c": tensor(np.array([1j, 2], np.complex64)),
        "v": tensor(np.ones(3, np.float32)),
        "T": tensor(np.ones((2, 3, 4), np.float32)),
        "i": tensor([5]),
        "s": tensor(1.5),
        "g": lib.ones(2, 3, requires_grad=True),
    }
    try:
        with np.errstate(all="ignore"):
            eval(code, given | {"torch": lib, "F": lib.nn.functional})  # noqa: S307
    except Exception as error:
        return next((c.__name__ for c in CLASSES if isinstance(error, c)), type(error).__name__)
    return "no error"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", CALLS)
def test_as_pytorch(code):
    torch = pytest.importorskip("torch")
    ours, theirs = end(rt, code), end(torch, code)
    assert (ours, theirs) == LISTED.get(code, (theirs, theirs))


def test_no_deviation_is_listed_for_a_call_that_is_not_there():
    assert set(LISTED) <= set(CALLS)
