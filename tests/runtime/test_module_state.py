"""Hooks around named tuples, copies and pickles of modules."""

import copy
import pickle
from collections import namedtuple

import pytest

import tidy.runtime as rt
from tidy.runtime import nn
from tidy.runtime.nn import functional as F  # noqa: N812


def test_backward_hooks_leave_named_tuples_as_they_are():
    Pair = namedtuple("Pair", "one two")

    class Two(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x + 1)

    model, seen = Two(), []
    model.register_full_backward_hook(lambda *given: seen.append(given))
    out = model(rt.ones(2, requires_grad=True))
    assert isinstance(out, Pair)
    out.two.sum().backward()
    assert len(seen) == 1


def test_copies_of_views_share_memory_as_their_originals_do():
    base = rt.arange(6.0).reshape(2, 3)
    one, row, turned, again = copy.deepcopy([base, base[1], base.t(), base])
    assert one is again
    row.fill_(-1)
    assert one.tolist() == [[0, 1, 2], [-1, -1, -1]]
    assert turned.tolist() == [[0, -1], [1, -1], [2, -1]]
    assert base.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_functions_and_devices_are_pickled():
    for function in (
        *(rt.relu, rt.add, rt.norm, rt.matmul, rt.zeros, rt.where, rt.linalg.inv, rt.fft.fft),
        *(F.relu, F.gelu, F.cross_entropy, F.dropout, F.linear),
    ):
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301
    for device in (rt.device("cpu"), rt.device("cuda:1")):
        found = pickle.loads(pickle.dumps(device))  # noqa: S301
        assert (found, type(found)) == (device, rt.device)
        assert copy.deepcopy(device) == device
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model.act = F.gelu
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.act is F.gelu


def test_a_parameter_does_not_hide_behind_a_property():
    """A parametrized weight takes tensors, through `right_inverse`, and no other parameter."""

    class Double(nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    model = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        model.weight = nn.Parameter(rt.ones(2, 2))
    own = model.parametrizations.weight.original
    model.weight = rt.ones(2, 2)
    assert own is model.parametrizations.weight.original
    assert (own.tolist(), model.weight.tolist()) == ([[0.5] * 2] * 2, [[1.0] * 2] * 2)
    with pytest.raises(ValueError, match="float64 where float32"):
        model.weight = rt.ones(2, 2).double()


def test_hooks_of_saved_tensors_may_read_them_as_arrays():
    """Nothing is recorded while they run, so that it does not matter what needs a gradient."""
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    with rt.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), rt.from_numpy):
        y = (x * x).exp()
    y.sum().backward()
    assert rt.allclose(x.grad, 2 * x * (x * x).exp())


def test_a_bag_of_embeddings_refuses_what_it_cannot_when_it_is_made():
    with pytest.raises(NotImplementedError, match="max"):
        nn.EmbeddingBag(3, 2, mode="max")
