"""What has no gradient: values, dtypes and shapes as PyTorch's."""

import numpy as np
import pytest

import tidy.runtime as rt

from .samples_plain import PLAIN, names, seen

pytestmark = pytest.mark.oracle


def same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        single = ours.dtype.itemsize == 4 or ours.dtype.name == "complex64"
        tolerance = 1e-6 if single else 1e-3 if ours.dtype == np.float16 else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", PLAIN)
def test_as_pytorch(code):
    torch = pytest.importorskip("torch")
    ours, theirs = (seen(eval(code, names(lib))) for lib in (rt, torch))  # noqa: S307
    same(ours, theirs)
