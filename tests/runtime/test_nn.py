"""nn by itself; and bad input, where the errors are compared with PyTorch's (oracle)."""

# ruff: noqa: S307

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

LAYERS = [
    nn.Linear(2, 3),
    nn.Conv2d(2, 4, 3, padding="same", groups=2),
    nn.Embedding(3, 2, padding_idx=1),
    nn.BatchNorm2d(3),
    nn.LayerNorm((2, 3)),
    nn.RMSNorm(3),
    nn.GroupNorm(1, 2),
    nn.ReLU(True),
    nn.Hardtanh(-2, 2),
    nn.Softmax(1),
    nn.Dropout(0.1),
    nn.MaxPool2d(2),
    nn.AvgPool1d(3),
    nn.CrossEntropyLoss(rt.ones(3), label_smoothing=0.1),
    nn.ModuleList([nn.ReLU(), nn.ReLU()]),
    nn.ModuleDict({"a": nn.Linear(1, 1)}),
    nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Tanh())),
]


@pytest.mark.parametrize("module", LAYERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])  # noqa: S301
def test_copies_are_independent_and_equal(module, again):
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


def test_parameter():
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


def test_a_layer_tells_its_arguments():
    assert str(inspect.signature(nn.ELU)) == "(alpha=1.0, inplace=False)"
    assert list(inspect.signature(nn.Linear).parameters) == [
        *("in_features", "out_features", "bias", "device", "dtype")
    ]
    with pytest.raises(TypeError, match=r"Linear.__init__\(\) missing 1 required"):
        nn.Linear(2)


def test_registries_and_attributes_agree():
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    m._modules["0"] = nn.Tanh()
    assert isinstance(getattr(m, "0"), nn.Tanh)
    del m._modules["1"]
    assert not hasattr(m, "1")
    fc = nn.Linear(2, 2)
    fc._parameters["weight"] = nn.Parameter(rt.zeros(2, 2))
    assert fc(rt.ones(1, 2)).tolist() == [fc.bias.tolist()]
    fc.bias = None
    assert fc(rt.ones(1, 2)).tolist() == [[0.0, 0.0]]


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


def test_a_hook_may_remove_itself():
    m, seen = nn.ReLU(), []
    with m.register_forward_hook(lambda *_: handle.remove()) as handle:
        m.register_forward_hook(lambda *_: seen.append(1))
        m(rt.ones(1))
        m(rt.ones(1))
    assert seen == [1, 1]


def test_hooks_are_copied_with_their_module():
    m, seen = nn.ReLU(), []
    m.register_forward_hook(lambda *_: seen.append(1))
    made = copy.deepcopy(m)
    m.register_forward_hook(lambda *_: seen.append(2))
    made(rt.ones(1))
    assert seen == [1]


def test_setstate_of_a_subclass_runs_only_on_unpickling():
    class Stated(nn.Module):
        def __setstate__(self, state):
            super().__setstate__(state)
            self.loaded = True

    m = Stated()
    assert not hasattr(m, "loaded")
    m.fc = nn.Linear(1, 1)
    assert copy.deepcopy(m).loaded


def test_observers_see_what_a_model_runs():
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []
    with rt.add_callback(lambda record: seen.append(record.name)), rt.inference_mode():
        model(rt.ones(1, 2))
    assert [name for name in seen if name in {"aten::linear", "aten::relu"}] == [
        *("aten::linear", "aten::relu")
    ]


def test_conversion():
    m = nn.BatchNorm1d(3)
    weight = m.weight
    weight.grad = rt.ones(3)
    assert m.double() is m
    assert m.weight is weight
    assert {p.dtype for p in m.parameters()} == {rt.float64}
    assert weight.grad.dtype == rt.float64
    assert m.running_mean.dtype == rt.float64
    assert m.num_batches_tracked.dtype == rt.int64
    assert nn.Linear(2, 2, dtype=rt.float64).weight.dtype == rt.float64
    assert m.to("cpu").weight.dtype == rt.float64


def test_training_reduces_the_loss():
    rt.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    x = rt.randn(64, 3)
    target = (x.sum(1) > 0).long()
    loss_of = nn.CrossEntropyLoss()
    losses = []
    for _ in range(60):
        model.zero_grad()
        loss = loss_of(model(x), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        with rt.no_grad():
            for p in model.parameters():
                p.sub_(p.grad * 0.5)
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3


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


# Bad input; after "~", the class of the error is PyTorch's, but its words are not.
ERRORS = """
~ nn.Linear(2, 3).load_state_dict({'weight': t.ones(3, 4), 'x': t.ones(2)})
~ nn.Sequential(nn.Linear(2, 3)).load_state_dict({'0.weight': 3, 'x': t.ones(2)})
~ nn.Linear(2, 3).load_state_dict([1])
~ early(nn, lambda m: setattr(m, 'w', nn.Parameter(t.ones(2))))
~ early(nn, lambda m: setattr(m, 'w', nn.ReLU()))
~ early(nn, lambda m: m.register_buffer('w', t.ones(2)))
~ early(nn, lambda m: m.register_parameter('w', None))
nn.Module()(1)
nn.Module(3)
nn.Linear(2, 3).foo
~ setattr(nn.Linear(2, 3), 'weight', 3)
~ setattr(nn.Linear(2, 3), 'weight', t.ones(3))
~ setattr(nn.Sequential(nn.ReLU()), '0', 3)
delattr(nn.Linear(2, 3), 'foo')
~ nn.Module().register_parameter('a.b', None)
~ nn.Module().register_parameter('', None)
~ nn.Module().register_parameter(3, None)
~ nn.Module().register_parameter('forward', None)
~ nn.Module().register_parameter('a', t.ones(2))
~ nn.Module().register_buffer('a', 3)
~ nn.Module().add_module('a', 3)
~ nn.Module().add_module('a.b', nn.ReLU())
~ nn.Linear(2, 3).get_submodule('x.y')
~ nn.Linear(2, 3).get_parameter('y')
~ nn.Linear(2, 3).get_buffer('weight')
~ nn.Sequential(nn.ReLU())[5]
~ nn.Sequential(nn.ReLU())[-3]
~ nn.Sequential(3)
~ nn.ModuleList([3])
~ nn.ModuleList(3)
~ nn.ModuleList()['a']
~ nn.ModuleDict(3)
~ nn.ModuleDict({3: nn.ReLU()})
nn.ModuleDict()['a']
nn.ReLU().train('x')
~ nn.ReLU().to(t.int32)
~ nn.Conv2d(3, 4, 3, groups=2)
~ nn.Conv2d(4, 3, 3, groups=2)
~ nn.Conv2d(4, 3, 3, groups=0)
~ nn.Conv2d(3, 4, 3, padding='x')
~ nn.Conv2d(4, 3, 3, padding='same', stride=2)
~ nn.Conv2d(4, 3, 3, padding_mode='x')
~ nn.GroupNorm(2, 3)
~ nn.BatchNorm2d(3)(t.ones(2))
~ nn.BatchNorm1d(3)(t.ones(2))
~ nn.Dropout(2)
nn.Embedding(3, 4, padding_idx=5)
~ nn.Parameter(t.ones(2, dtype=t.int64))
nn.L1Loss(reduction='x')(t.ones(2), t.ones(2))
nn.Linear(2)
nn.Linear(2, 3, x=4)
~ setattr(nn.Linear(1, 1), 'weight', nn.ReLU())
~ nn.utils.vector_to_parameters(t.ones(2), nn.Linear(2, 2).parameters())
~ nn.init.xavier_uniform_(t.ones(3))
~ nn.init.kaiming_uniform_(t.ones(3, 4), mode='x')
nn.init.kaiming_uniform_(t.ones(3, 4), nonlinearity='x')
~ nn.init.calculate_gain('leaky_relu', 'x')
~ nn.init.orthogonal_(t.ones(3))
~ nn.init.uniform_(t.ones(3), 2, 1)
~ nn.Nothing
~ hooked(t, 'forward_pre', lambda m, a, k: 3, with_kwargs=True)
~ hooked(t, 'full_backward', lambda m, i, o: (1, 2))
~ hooked(t, 'full_backward', lambda m, i, o: (o[0],))
~ hooked(t, 'full_backward_pre', lambda m, o: (1, 2))
""".strip().splitlines()


def early(nn, act):
    class Early(nn.Module):
        def __init__(self):
            act(self)

    return Early()


def hooked(lib, kind, hook, **options):
    m = lib.nn.Linear(2, 3)
    getattr(m, f"register_{kind}_hook")(hook, **options)
    return m(lib.ones(1, 2, requires_grad="i, o: (1" not in kind)).sum().backward()


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", ERRORS)
def test_error(text):
    torch = pytest.importorskip("torch")
    found = []
    for lib in (torch, rt):
        with pytest.raises(Exception) as info:  # noqa: PT011
            eval(text.lstrip("~ "), {"nn": lib.nn, "t": lib, "early": early, "hooked": hooked})
        found.append(info)
    assert found[1].type is found[0].type
    if text[0] != "~":
        assert str(found[1].value) == str(found[0].value)
