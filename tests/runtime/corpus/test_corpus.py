"""Every script of the corpus has PyTorch's losses on tidy.runtime, in both dtypes."""

import importlib
import inspect
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import tidy.runtime as rt

from ...environment import SOAK

STEPS = 50
COMPARED = STEPS if SOAK else 8
MODULES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem.endswith("_scripts"))
LOADED = [importlib.import_module(f"{__package__}.{name}") for name in MODULES]
SCRIPTS = [
    f
    for module in LOADED
    for f in vars(module).values()
    if inspect.isgeneratorfunction(f) and f.__module__ == module.__name__
]
# Losses of players against each other, and of actors, need not fall: it is enough that they move.
MOVING = {"gan_scripts", "acting_scripts"}
TOLERANCES = {"float64": 1e-6, "float32": 1e-4}
# float32 takes other code in few places; all scripts have it for `make soak`.
CASES = [
    pytest.param(script, dtype, id=f"{script.__name__}-{dtype}")
    for dtype in TOLERANCES
    for script in (SCRIPTS if SOAK or dtype == "float64" else SCRIPTS[::8])
]


def arrays_of(learned):
    """The weights of modules and tensors, as numpy arrays by name."""
    return [
        {k: v.detach().numpy().copy() for k, v in one.state_dict().items()}
        if hasattr(one, "state_dict")
        else one.detach().numpy().copy()
        for one in learned
    ]


def give(learned, arrays):
    """Put the weights into tidy.runtime's modules and tensors."""
    for one, given in zip(learned, arrays, strict=True):
        if isinstance(given, dict):
            one.load_state_dict({k: rt.tensor(v) for k, v in given.items()})
        else:
            with rt.no_grad():
                one.copy_(rt.tensor(given))


@pytest.fixture
def default_dtype(request, one_thread):
    """Both runtimes make tensors of this dtype while the test runs."""
    torch = pytest.importorskip("torch")
    before = [library.get_default_dtype() for library in (torch, rt)]
    for library in (torch, rt):
        library.set_default_dtype(getattr(library, request.param))
    yield request.param
    for library, dtype in zip((torch, rt), before, strict=True):
        library.set_default_dtype(dtype)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Sparse invariant checks", "ignore:LSTM with projections")
@pytest.mark.parametrize(("script", "default_dtype"), CASES, indirect=["default_dtype"])
def test_losses_are_those_of_pytorch(script, default_dtype):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs, ours = (script(lib, lib.nn, lib.nn.functional) for lib in (torch, rt))
    learned, mine = next(theirs), next(ours)
    give(mine, arrays_of(learned))
    assert [repr(m) for m in mine if isinstance(m, rt.nn.Module)] == [
        repr(m) for m in learned if isinstance(m, torch.nn.Module)
    ]
    losses = np.array(list(islice(theirs, COMPARED)))
    assert len(losses) == COMPARED
    assert np.isfinite(losses).all()
    tolerance = TOLERANCES[default_dtype]
    np.testing.assert_allclose(list(islice(ours, COMPARED)), losses, rtol=tolerance)
    if COMPARED < STEPS:
        return  # whether a script learns shows later
    if script.__module__.rpartition(".")[2] in MOVING:
        assert np.ptp(losses) > 0.05 * np.abs(losses).mean()
    else:
        assert losses[-10:].mean() < 0.95 * losses[:5].mean()


def test_there_are_a_hundred_and_each_has_its_own_name():
    names = [script.__name__ for script in SCRIPTS]
    assert len(set(names)) == len(names) >= 100
    assert all(script.__doc__ for script in SCRIPTS)
