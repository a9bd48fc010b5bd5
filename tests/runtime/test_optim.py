"""Optimizers, schedulers and mixed precision, by what they promise."""

# ruff: noqa: ARG005  (lambdas and Functions have the arguments they have)

import copy
import pickle

import pytest

import tidy.runtime as rt
from tidy.runtime import optim
from tidy.runtime.observe import autocast as amp
from tidy.runtime.observe.arrangement import active
from tidy.runtime.optim import lr_scheduler

from .observed import names_in
from .questions_optim import HOW


def leaf(*values):
    return rt.tensor(list(values), requires_grad=True)


@pytest.mark.parametrize("how", HOW)
def test_updates_in_place(how):
    x = leaf(1.0, 2.0)
    x.grad = rt.ones(2)
    version, array = x._version, x.array
    optim.SGD([x], lr=0.5, **HOW[how]).step()
    assert x.array is array
    assert x._version == version + 1
    assert x.tolist() == [0.5, 1.5]
    assert x.requires_grad
    assert x.grad_fn is None


def test_leaves_those_without_gradient_alone():
    x, y = leaf(1.0), leaf(1.0)
    x.grad = rt.ones(1)
    optimizer = optim.Adam([x, y], lr=0.1)
    optimizer.step()
    assert y.item() == 1.0
    assert list(optimizer.state) == [x]


@pytest.mark.parametrize("how", HOW)
def test_takes_dtypes_and_newcomers_apart(how):
    x, y = leaf(1.0), rt.tensor([1.0], dtype=rt.float64, requires_grad=True)
    optimizer = optim.Adam([x, y], lr=0.1, **HOW[how])
    x.grad = rt.ones(1)
    optimizer.step()
    x.grad, y.grad = rt.ones(1), rt.ones(1, dtype=rt.float64)
    optimizer.step()
    assert [optimizer.state[p]["step"].item() for p in (x, y)] == [2.0, 1.0]
    assert (x.dtype, y.dtype) == (rt.float32, rt.float64)


def test_foreach_nesterov_does_not_touch_the_gradients():
    x = leaf(1.0)
    x.grad = rt.ones(1)
    optimizer = optim.SGD([x], lr=0.1, momentum=0.9, nesterov=True, foreach=True)
    optimizer.step()
    optimizer.step()
    assert x.grad.item() == 1.0


@pytest.mark.parametrize("foreach", [None, True])
def test_zero_grad(foreach):
    x = leaf(1.0, 2.0)
    optimizer = optim.SGD([x], lr=0.1, foreach=foreach)
    (x * x).sum().backward(create_graph=True)
    grad = x.grad
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is grad
    assert grad.tolist() == [0.0, 0.0]
    assert not grad.requires_grad
    x.grad = rt.ones(4)[:2]  # a view
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert x.grad is None


def test_hooks():
    x, seen = leaf(1.0), []
    x.grad = rt.ones(1)
    optimizer = optim.SGD([x], lr=0.5)
    optimizer.register_step_pre_hook(lambda o, a, k: seen.append(("pre", x.item(), a, k)))
    handle = optimizer.register_step_pre_hook(lambda o, a, k: ((lambda: "loss",), {}))
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(("post", x.item(), len(a))))
    assert optimizer.step() == "loss"
    assert seen == [("pre", 1.0, (), {}), ("post", 0.5, 1)]
    handle.remove()
    assert optimizer.step() is None


def test_a_subclass_with_its_own_step():
    class Descent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @rt.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad * group["lr"])

    x = leaf(1.0)
    x.grad = rt.ones(1)
    optimizer, seen = Descent([x], lr=0.25), []
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(o))
    assert names_in(optimizer.step)[0] == "Optimizer.step#Descent.step"
    assert names_in(optimizer.zero_grad) == ["Optimizer.zero_grad#Descent.zero_grad"]
    assert x.item() == 0.75
    assert seen == [optimizer]


def test_groups_have_their_own_options():
    x, y = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": x}, {"params": [y], "lr": 0.5}], lr=0.1)
    x.grad, y.grad = rt.ones(1), rt.ones(1)
    optimizer.step()
    assert [x.item(), y.item()] == [pytest.approx(0.9), 0.5]
    z = leaf(1.0)
    optimizer.add_param_group({"params": z, "momentum": 0.9})
    assert [g["momentum"] for g in optimizer.param_groups] == [0, 0, 0.9]
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [z]})
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer.add_param_group({"params": [w := leaf(1.0), w]})


def test_a_rate_may_be_a_tensor():
    x = leaf(1.0)
    x.grad = rt.ones(1)
    optim.SGD([x], lr=rt.tensor(0.25)).step()
    assert x.item() == 0.75


def test_what_is_not_there_is_refused():
    with pytest.raises(RuntimeError, match="differentiable"):
        optim.Adam([leaf(1.0)], differentiable=True)


def test_gradients_are_off_in_a_step_but_on_in_its_closure():
    x, seen = leaf(1.0), []
    optimizer = optim.SGD([x], lr=0.1)
    with rt.no_grad():
        optimizer.step(lambda: seen.append(rt.is_grad_enabled()))
        assert not rt.is_grad_enabled()
    assert seen == [True]


def pickled(x):
    return pickle.loads(pickle.dumps(x))  # noqa: S301


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("again", [copy.deepcopy, pickled])
def test_copies_keep_their_state(again, how):
    x = leaf(1.0)
    x.grad = rt.ones(1)
    optimizer = optim.Adam([x], lr=0.1, **HOW[how])
    optimizer.step()
    copied = again(optimizer)
    (y,) = copied.param_groups[0]["params"]
    y.grad = rt.ones(1)
    optimizer.step()
    copied.step()
    assert y is not x
    assert y.item() == x.item()
    assert repr(copied) == repr(optimizer)


# Schedulers


def test_warns_of_the_wrong_order():
    optimizer = optim.SGD([leaf(1.0)], lr=0.1)
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    optimizer.step()
    scheduler.step()


def test_a_scheduler_of_the_users_own():
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = optim.SGD([leaf(1.0)], lr=0.8)
    scheduler = Halving(optimizer)
    optimizer.step()
    scheduler.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.2]
    assert optimizer.param_groups[0]["lr"] == 0.2


# Mixed precision


def test_autocast_lowers_products_inside_and_nowhere_else():
    x = rt.ones(2, 2)
    assert not active
    with amp.autocast("cpu", dtype=rt.float16):
        assert active  # operators ask then
        assert amp.get_autocast_dtype() == x.mm(x).dtype == rt.float16
        assert amp.cast("aten::mm", (x.double(),))[0].dtype == rt.float64
        assert amp.cast("aten::linear", ([x, 1], None))[0][0].dtype == rt.float16
        with amp.autocast("cpu", enabled=False):
            assert not amp.is_autocast_enabled()
            assert x.mm(x).dtype == rt.float32
        assert amp.is_autocast_enabled()
    assert not active
    assert not amp.is_autocast_enabled()


def test_autocast_decorates_and_casts_are_recorded():
    x = leaf(1.0, 2.0).reshape(1, 2)

    @amp.autocast("cpu", dtype=rt.float16)
    def f(a):
        return a.mm(a.t())

    assert f(x).dtype == rt.float16
    assert names_in(lambda: f(x)).count("aten::to") == 2
    f(x).sum().backward()


def test_autocast_elsewhere_is_off():
    with pytest.warns(UserWarning, match="Disabling"), amp.autocast("cuda"):
        assert not amp.is_autocast_enabled()
