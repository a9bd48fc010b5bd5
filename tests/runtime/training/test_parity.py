"""The same training in both runtimes gives the same losses."""

import numpy as np
import pytest

import tidy.runtime as rt

from .models import MODELS, STEPS
from .networks import NETWORKS


@pytest.mark.oracle
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_losses_are_those_of_pytorch(model):
    torch = pytest.importorskip("torch")
    theirs = model(torch)
    assert len(theirs) == STEPS
    assert np.mean(theirs[-5:]) < 0.7 * theirs[0]  # it learns, so there is something to compare
    np.testing.assert_allclose(model(rt), theirs, rtol=1e-4)


@pytest.mark.oracle
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.__name__)
def test_networks_with_copied_weights_train_alike(network):
    torch = pytest.importorskip("torch")
    (theirs, their_step), (ours, our_step) = network(torch), network(rt)
    for mine, other in zip(ours, theirs, strict=True):
        state = {k: rt.tensor(v.numpy().copy()) for k, v in other.state_dict().items()}
        assert [*mine.load_state_dict(state)] == [[], []]
        assert repr(mine) == repr(other)
    losses = [their_step(number) for number in range(STEPS)]
    assert np.ptp(losses) > 0.01 * np.mean(losses)
    np.testing.assert_allclose([our_step(n) for n in range(STEPS)], losses, rtol=1e-6)
    for mine, other in zip(ours, theirs, strict=True):
        for key, value in other.state_dict().items():
            np.testing.assert_allclose(mine.state_dict()[key].numpy(), value.numpy(), 1e-5, 1e-7)
