"""Every test ends with the modes and observers as it found them."""

import pytest

import tidy.runtime as rt
from tidy.runtime.engine import anomaly, saved_variable
from tidy.runtime.observe.arrangement import active


@pytest.fixture(autouse=True)
def _modes_are_back():
    yield
    assert rt.is_grad_enabled()
    assert not rt.is_inference_mode_enabled()
    assert not anomaly.is_anomaly_enabled()
    assert not active
    assert not saved_variable.hooked
