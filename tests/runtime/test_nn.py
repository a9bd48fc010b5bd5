"""nn by itself; what PyTorch answers stands in test_golden.py."""

import copy
import gc
import inspect
import math
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import nn

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
