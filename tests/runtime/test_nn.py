"""nn by itself; what PyTorch answers stands in test_golden.py."""

import copy
import gc
import inspect
import math
import pickle
import subprocess
import sys
import weakref
from collections import namedtuple

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import nn
from tidy.runtime.nn import functional as F  # noqa: N812

from . import questions_nn

LAYERS = [text for text, _ in questions_nn.LAYERS if "Loss" not in text]
LAYERS += [
    "CrossEntropyLoss(torch.ones(3), label_smoothing=0.1)",
    "ModuleList([nn.ReLU(), nn.ReLU()])",
    "ModuleDict({'a': nn.Linear(1, 1)})",
]


@pytest.mark.parametrize("text", LAYERS)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])  # noqa: S301
def test_copies_are_independent_and_equal(text, again):
    module = eval(f"nn.{text}", {"nn": nn, "torch": rt})  # noqa: S307
    made = again(module)
    assert type(made) is type(module)
    assert repr(made) == repr(module)
    assert made.load_state_dict(module.state_dict()) == ([], [])
    for (name, p), q in zip(made.named_parameters(), module.parameters(), strict=True):
        assert isinstance(p, nn.Parameter)
        assert made.get_parameter(name) is p
        assert p is not q
        assert not np.shares_memory(p.array, q.array)
        np.testing.assert_array_equal(p.array, q.array)
    for sub in made.modules():
        for name, p in sub._parameters.items():
            assert getattr(sub, name) is p


def test_parameters_are_copied_and_converted():
    data = rt.tensor([1.0, 2.0])
    p = nn.Parameter(data)
    assert p.requires_grad
    assert p.is_leaf
    assert p.data_ptr() == data.data_ptr()
    assert repr(p).startswith("Parameter containing:\ntensor([1., 2.]")
    assert type(p * 2) is rt.Tensor
    (p * 2).sum().backward()
    made = copy.deepcopy(p)
    assert made.grad is None
    frozen = pickle.loads(pickle.dumps(nn.Parameter(rt.arange(3), requires_grad=False)))  # noqa: S301
    assert isinstance(frozen, nn.Parameter)
    assert not frozen.requires_grad
    assert frozen.tolist() == [0, 1, 2]
    m = nn.BatchNorm1d(3)
    weight = m.weight
    weight.grad = rt.ones(3)
    assert m.double() is m
    assert m.weight is weight
    assert {p.dtype for p in m.parameters()} == {rt.float64}
    assert (weight.grad.dtype, m.running_mean.dtype) == (rt.float64, rt.float64)
    assert m.num_batches_tracked.dtype == rt.int64
    assert nn.Linear(2, 2, dtype=rt.float64).weight.dtype == rt.float64
    assert m.to("cpu").weight.dtype == rt.float64


def test_modules_are_freed_without_the_garbage_collector():
    gc.disable()
    try:
        m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        m.register_full_backward_hook(lambda m, i, o: None)  # noqa: ARG005
        m(rt.ones(1, 2, requires_grad=True)).sum().backward()
        gone = weakref.ref(m), weakref.ref(m[0].weight)
        del m
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_a_subclass_and_its_properties():
    class Scaled(nn.Linear):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.scale = 2.0

        @property
        def double_scale(self):
            return self.scale * 2

        @double_scale.setter
        def double_scale(self, value):
            self.scale = value / 2

        def forward(self, x):
            return super().forward(x) * self.scale

    m = Scaled(2, 3, bias=False)
    m.double_scale = 6.0
    x = rt.ones(1, 2)
    assert m(x).tolist() == (m.weight.sum(1) * 3.0).unsqueeze(0).tolist()
    assert repr(m) == "Scaled(in_features=2, out_features=3, bias=False)"
    assert str(inspect.signature(nn.ELU)) == "(alpha=1.0, inplace=False)"
    assert list(inspect.signature(nn.Linear).parameters) == [
        *("in_features", "out_features", "bias", "device", "dtype")
    ]


def test_hooks_and_states_are_copied_with_their_module():
    m, seen = nn.ReLU(), []
    with m.register_forward_hook(lambda *_: handle.remove()) as handle:
        m.register_forward_hook(lambda *_: seen.append(1))
        m(rt.ones(1))
        m(rt.ones(1))
    assert seen == [1, 1]
    m, seen = nn.ReLU(), []
    m.register_forward_hook(lambda *_: seen.append(1))
    made = copy.deepcopy(m)
    m.register_forward_hook(lambda *_: seen.append(2))
    made(rt.ones(1))
    assert seen == [1]

    class Stated(nn.Module):
        def __setstate__(self, state):
            super().__setstate__(state)
            self.loaded = True

    m = Stated()
    assert not hasattr(m, "loaded")
    m.fc = nn.Linear(1, 1)
    assert copy.deepcopy(m).loaded


def spread(tensor):
    return tensor.array.mean(), tensor.array.std()


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda w: nn.init.uniform_(w, -1, 1), 1 / math.sqrt(3)),
        (lambda w: nn.init.normal_(w, 0, 2), 2),
        (lambda w: nn.init.xavier_uniform_(w, 2), 2 * math.sqrt(2 / 500)),
        (nn.init.xavier_normal_, math.sqrt(2 / 500)),
        (nn.init.kaiming_uniform_, math.sqrt(2 / 300)),
        (lambda w: nn.init.kaiming_uniform_(w, a=math.sqrt(5)), math.sqrt(1 / 900)),
        (lambda w: nn.init.kaiming_normal_(w, 0, "fan_out", "relu"), math.sqrt(2 / 200)),
        (lambda w: nn.init.trunc_normal_(w, 0, 0.02), 0.02),
    ],
)
def test_initial_values_have_their_moments(fill, std):
    rt.manual_seed(1)
    weight = nn.Parameter(rt.empty(200, 300))
    before = weight._version
    assert fill(weight) is weight
    assert weight._version > before
    mean, found = spread(weight)
    assert abs(mean) < std * 0.02
    assert abs(found / std - 1) < 0.02


def test_trunc_normal_stays_inside():
    w = nn.init.trunc_normal_(rt.empty(1000), 0, 1, -0.5, 1)
    assert -0.5 <= w.array.min() <= -0.4
    assert 0.9 <= w.array.max() <= 1
    with pytest.raises(NotImplementedError, match="max"):
        nn.EmbeddingBag(3, 2, mode="max")


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 2)])
def test_orthogonal(shape):
    flat = nn.init.orthogonal_(rt.empty(*shape), 2.0).array.reshape(shape[0], -1)
    short = flat if flat.shape[0] <= flat.shape[1] else flat.T
    np.testing.assert_allclose(short @ short.T, 4 * np.eye(len(short)), atol=1e-5)


def test_layers_are_loaded_when_first_used():
    code = (
        "import sys, tidy.runtime as t; assert 'tidy.runtime.nn.module' not in sys.modules;"
        "t.nn.Linear; t.nn.init.zeros_; t.nn.utils.clip_grad_norm_;"
        "from tidy.runtime.nn import Module, functional, init"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    with rt.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), rt.from_numpy):
        y = (x * x).exp()
    y.sum().backward()
    assert rt.allclose(x.grad, 2 * x * (x * x).exp())


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
