"""`fused=True`: one operator for all parameters, with the numbers of the single-tensor form."""

import copy

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import optim
from tidy.runtime.observe.callbacks import add_callback

CASES = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"weight_decay": 0.1, "maximize": True}),
    ("Adam", {"amsgrad": True, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("Adam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {}),
    ("AdamW", {"amsgrad": True, "maximize": True, "eps": 1e-3}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"weight_decay": 0.1, "maximize": True}),
]
each_case = pytest.mark.parametrize(
    ("name", "options"), CASES, ids=[f"{n}-{'-'.join(o) or 'plain'}" for n, o in CASES]
)
_SHAPES = [(3, 2), (4,), (), (0,)]
_OPERATOR = {
    "SGD": "aten::_fused_sgd_",
    "Adam": "aten::_fused_adam_",
    "AdamW": "aten::_fused_adamw_",
    "Adagrad": "aten::_fused_adagrad_",
}


def leaf(*values, dtype=None):
    return rt.tensor(list(values), dtype=dtype, requires_grad=True)


def trained(name, options, dtype="float32", device="cpu", torch=rt, steps=6, **how):
    """Parameters and optimizer after some steps along random gradients."""
    rng = np.random.default_rng(0)
    made = [torch.tensor(rng.standard_normal(s), dtype=getattr(torch, dtype)) for s in _SHAPES]
    params = [p.to(device).requires_grad_() for p in made]
    optimizer = getattr(torch.optim, name)(params, lr=0.1, **options, **how)
    for _ in range(steps):
        for p in params:
            p.grad = torch.tensor(rng.standard_normal(p.shape), dtype=p.dtype).to(device)
        optimizer.step()
    return params, optimizer


def assert_same(ours, theirs):
    for (params, optimizer), (others, other) in [(ours, theirs)]:
        for p, q in zip(params, others, strict=True):
            assert p.dtype == q.dtype
            np.testing.assert_array_equal(p.detach().cpu().numpy(), q.detach().cpu().numpy())
        a, b = optimizer.state_dict()["state"], other.state_dict()["state"]
        assert a.keys() == b.keys()
        for number, state in b.items():
            assert a[number].keys() == state.keys()
            for key, value in state.items():
                np.testing.assert_array_equal(a[number][key].cpu().numpy(), value.cpu().numpy())


def see_nothing(_):
    """An observer, for which operators run one by one."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each_case
def test_numbers_of_the_single_tensor_form(name, options, dtype):
    assert_same(
        trained(name, options, dtype, fused=True), trained(name, options, dtype, foreach=False)
    )


@each_case
def test_numbers_of_the_observed_form(name, options):
    with add_callback(see_nothing):
        fused = trained(name, options, fused=True)
        single = trained(name, options, foreach=False)
    assert_same(fused, single)


@pytest.mark.oracle
@each_case
def test_16_bits_are_rounded_once_a_step_as_in_pytorch(name, options):
    torch = pytest.importorskip("torch")
    ours, _ = trained(name, options, "float16", fused=True)
    theirs, _ = trained(name, options, "float16", torch=torch, fused=True)
    for p, q in zip(ours, theirs, strict=True):
        assert p.dtype == rt.float16
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=2**-9, atol=2**-11)


@pytest.mark.oracle
@each_case
def test_numbers_of_pytorch(name, options):
    torch = pytest.importorskip("torch")
    ours, our_optimizer = trained(name, options, "float64", fused=True)
    theirs, their_optimizer = trained(name, options, "float64", torch=torch, fused=True)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-12, atol=1e-12)
    a, b = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert a["param_groups"] == b["param_groups"]
    for number, state in b["state"].items():
        for key, value in state.items():
            if value is not None:
                found = a["state"][number][key]
                np.testing.assert_allclose(found.numpy(), value.numpy(), rtol=1e-12)
                assert str(found.dtype) == str(value.dtype).removeprefix("torch.")


def seen_in_a_step(torch, name, watch):
    _, optimizer = trained(name, {}, torch=torch, fused=True)
    return watch(optimizer.step)


@pytest.mark.oracle
@pytest.mark.parametrize("name", list(_OPERATOR))
def test_operators_of_pytorch(name):
    torch = pytest.importorskip("torch")

    def watch_theirs(step):
        with torch.profiler.profile() as prof:
            step()
        events = prof.events()
        return [e.name for e in events if e.cpu_parent and e.cpu_parent.cpu_parent is None]

    def watch_ours(step):
        seen = []
        with add_callback(lambda record: seen.append(record.name)):
            step()
        assert seen.pop(0) == f"Optimizer.step#{name}.step"
        return seen

    theirs = seen_in_a_step(torch, name, watch_theirs)
    # PyTorch adds to the steps with an operator, on the CPU with more inside.
    assert seen_in_a_step(rt, name, watch_ours) == theirs


@pytest.mark.parametrize("name", list(_OPERATOR))
def test_one_operator_for_each_dtype(name):
    params = [leaf(1.0), leaf(2.0), leaf(3.0, dtype=rt.float64)]
    optimizer = getattr(optim, name)(params, fused=True)
    for p in params:
        p.grad = rt.ones_like(p)
    seen = []
    with add_callback(lambda record: seen.append(record.name)):
        optimizer.step()
    assert seen.count(_OPERATOR[name]) == 2


def test_parameters_change_in_place():
    x = leaf(1.0, 2.0)
    x.grad = rt.ones(2)
    version, array = x._version, x.array
    optim.SGD([x], lr=0.5, fused=True).step()
    assert x.array is array
    assert x._version == version + 1
    assert x.tolist() == [0.5, 1.5]
    assert x.requires_grad
    assert x.grad_fn is None


def test_a_gradient_that_comes_later():
    x, y = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([x, y], lr=0.1, momentum=0.5, fused=True)
    x.grad = rt.ones(1)
    optimizer.step()
    y.grad = rt.ones(1)
    optimizer.step()
    assert optimizer.state[x]["momentum_buffer"].item() == 1.5
    assert optimizer.state[y]["momentum_buffer"].item() == 1.0


def test_a_group_may_be_fused_alone():
    x, y = leaf(1.0), leaf(1.0)
    optimizer = optim.Adam([{"params": [x], "fused": True}, {"params": [y]}])
    x.grad, y.grad = rt.ones(1), rt.ones(1)
    seen = []
    with add_callback(lambda record: seen.append(record.name)):
        optimizer.step()
    assert seen.count("aten::_fused_adam_") == 1
    assert "aten::addcdiv_" in seen
    assert x.item() == y.item()


@pytest.mark.parametrize("name", list(_OPERATOR))
def test_state_goes_on(name):
    params, optimizer = trained(name, {}, fused=True)
    copies = [p.detach().clone().requires_grad_() for p in params]
    again = getattr(optim, name)(copies, lr=0.1, fused=True)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for p, q in zip(params, copies, strict=True):
        p.grad, q.grad = rt.ones_like(p), rt.ones_like(q)
    optimizer.step()
    again.step()
    assert_same((copies, again), (params, optimizer))


def both(library):
    return rt if library == "tidy" else pytest.importorskip("torch")


each_library = pytest.mark.parametrize(
    "library", ["tidy", pytest.param("torch", marks=pytest.mark.oracle)]
)


@each_library
@pytest.mark.parametrize("name", list(_OPERATOR))
def test_fused_and_foreach_at_once(name, library):
    torch = both(library)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"`fused` and `foreach` cannot be `True` together\."):
        getattr(torch.optim, name)([x], lr=0.1, fused=True, foreach=True)


@each_library
@pytest.mark.parametrize("name", list(_OPERATOR))
def test_what_cannot_be_fused(name, library):
    torch = both(library)
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    x.grad = torch.ones_like(x)
    with pytest.raises(RuntimeError, match=r"(?i)floating point|complex|not implemented"):
        getattr(torch.optim, name)([x], lr=0.1, fused=True).step()


@each_library
def test_rmsprop_has_no_fused_form(library):
    torch = both(library)
    with pytest.raises(TypeError, match="fused"):
        torch.optim.RMSprop([torch.ones(2, requires_grad=True)], fused=True)


# On a device


@pytest.fixture
def device():
    was_available = rt.cuda.is_available()
    if not was_available:
        rt.cuda.configure("a100")
    yield "cuda"
    if not was_available:
        rt.cuda.configure(None)


@each_case
def test_numbers_on_a_device(name, options, device):
    fused = trained(name, options, device=device, fused=True)
    assert_same(fused, trained(name, options, device="cpu", foreach=False))
    state = fused[1].state[fused[0][0]]
    assert {str(value.device) for value in state.values()} <= {"cuda:0"}
