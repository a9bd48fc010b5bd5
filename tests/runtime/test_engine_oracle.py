"""Engine semantics: the same script, run with PyTorch and with the runtime, says the same."""

import pytest

import tidy.runtime as rt

from . import scripts_in_place
from .scripts import SCRIPTS

assert scripts_in_place  # adds to SCRIPTS
pytestmark = pytest.mark.oracle


def rounded(x):
    """Floats to 12 digits: the two libraries' exp differ in the last bit."""
    if isinstance(x, float):
        return float(f"{x:.12g}")
    return [rounded(i) for i in x] if isinstance(x, (list, tuple)) else x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.__name__)
def test_script(script):
    torch = pytest.importorskip("torch")
    assert rounded(script(rt)) == rounded(script(torch))
