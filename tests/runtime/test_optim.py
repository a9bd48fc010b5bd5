"""Optimizers, autocast and scalers beside their answers, which test_golden.py compares."""

# ruff: noqa: ARG005  (lambdas have the arguments they have)

import warnings

import pytest

import tidy.runtime as rt
from tidy.runtime import optim
from tidy.runtime.observe import autocast as amp
from tidy.runtime.observe.arrangement import active

from .observed import names_in


def leaf(*values):
    return rt.tensor(list(values), requires_grad=True)


def test_a_fused_step_is_a_change_of_its_parameters():
    x = leaf(1.0)
    x.grad, version = rt.ones(1), x._version
    optim.SGD([x], lr=0.5, fused=True).step()
    assert (x.item(), x._version) == (0.5, version + 1)
    with pytest.raises(RuntimeError, match="differentiable"):
        optim.Adam([leaf(1.0)], differentiable=True)


def test_foreach_nesterov_does_not_touch_the_gradients():
    x = leaf(1.0)
    x.grad = rt.ones(1)
    optimizer = optim.SGD([x], lr=0.1, momentum=0.9, nesterov=True, foreach=True)
    optimizer.step()
    optimizer.step()
    assert x.grad.item() == 1.0


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

    assert (f(x).dtype, names_in(lambda: f(x)).count("aten::to")) == (rt.float16, 2)
    f(x).sum().backward()
    with pytest.warns(UserWarning, match="Disabling"), amp.autocast("cuda"):
        assert not amp.is_autocast_enabled()


def test_without_a_device_it_is_off() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = rt.cuda.amp.GradScaler()
    loss = rt.ones((), requires_grad=True)
    assert scaler.scale(loss) is loss
    assert (scaler.is_enabled(), scaler.get_scale(), scaler.state_dict()) == (False, 1.0, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rt.amp.GradScaler("cuda", enabled=False)


def test_on_a_device() -> None:
    rt.cuda.configure("a100")
    try:
        weight = rt.ones(3, device="cuda", requires_grad=True)
        optimizer, scaler = rt.optim.SGD([weight], lr=0.5), rt.cuda.amp.GradScaler()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [0.5] * 3
        del weight, optimizer, scaler
    finally:
        rt.cuda.configure(None)
