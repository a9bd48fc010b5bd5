"""The same training in both runtimes gives the same losses."""

import numpy as np
import pytest

import tidy.runtime as rt

from .models import MODELS, STEPS


@pytest.mark.oracle
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_losses_are_those_of_pytorch(model):
    torch = pytest.importorskip("torch")
    theirs = model(torch)
    assert len(theirs) == STEPS
    assert np.mean(theirs[-5:]) < 0.7 * theirs[0]  # it learns, so there is something to compare
    np.testing.assert_allclose(model(rt), theirs, rtol=1e-4)
