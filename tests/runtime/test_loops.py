"""The engine's two loops do the same, and the plain one hands over in the middle of a backward."""

# ruff: noqa: ARG005

import pytest

import tidy.runtime as rt
from tidy.runtime.engine import engine

from .questions import ENGINE


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", ENGINE.questions.values(), ids=ENGINE.questions)
def test_scripts_say_the_same(script, monkeypatch):
    plain = list(script(rt))
    monkeypatch.setattr(engine, "ALWAYS_FULL", True)
    assert list(script(rt)) == plain


def test_the_plain_loop_is_enough_where_nobody_interferes(monkeypatch):
    monkeypatch.setattr(engine, "run_full", None)
    x = rt.tensor([2.0, 3.0], requires_grad=True)
    y = x.exp()
    (y * y + y).sum().backward()
    expected = [2 * e * e + e for e in (7.38905609893065, 20.085536923187668)]
    assert x.grad.tolist() == pytest.approx(expected)


@pytest.fixture(params=[False, True], ids=["handed over", "full from the start"])
def loop(request, monkeypatch):
    monkeypatch.setattr(engine, "ALWAYS_FULL", request.param)


class Calls(rt.autograd.Function):
    """The identity, whose backward calls a function."""

    @staticmethod
    def forward(ctx, x, function):
        ctx.call = function
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.call()
        return grad, None


@pytest.mark.usefixtures("loop")
def test_a_hook_on_a_leaf_registered_by_a_running_node():
    x, seen = rt.tensor([1.0], requires_grad=True), []

    def register():
        x.register_hook(lambda grad: seen.append(grad.tolist()) or grad * 10)

    (Calls.apply(x, register) * 3).sum().backward()
    assert (seen, x.grad.tolist()) == ([[3.0]], [30.0])


@pytest.mark.usefixtures("loop")
def test_hooks_on_nodes_that_wait_registered_by_a_running_node():
    x, seen = rt.tensor([2.0], requires_grad=True), []
    inner = x * 5
    branch = inner * 7  # its gradient is in before that of the other branch runs

    def register():
        inner.grad_fn.register_prehook(lambda grads: seen.append(grads[0].tolist()))
        inner.grad_fn.register_hook(lambda after, before: (after[0] * 2, None))

    (branch + Calls.apply(inner, register)).sum().backward()
    assert (seen, x.grad.tolist()) == ([[8.0]], [80.0])


@pytest.mark.usefixtures("loop")
def test_an_observer_that_starts_and_ends_inside():
    x, seen, handles = rt.tensor([1.0], requires_grad=True), [], []

    def start():
        handles.append(rt.add_callback(lambda record: seen.append((record.scope, record.name))))

    y = Calls.apply(x * 3, lambda: handles.pop().remove()).exp()
    Calls.apply(y, start).sum().backward()
    nodes = [name for scope, name in seen if scope == 1]
    assert nodes == ["ExpBackward0", "CallsBackward"]
    assert x.grad.tolist() == pytest.approx([3 * 20.085536923187668])


@pytest.mark.usefixtures("loop")
def test_an_error_after_the_change_names_its_node():
    x = rt.tensor([1.0], requires_grad=True)
    y = x * 2

    def fail(grads):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        Calls.apply(y, lambda: y.grad_fn.register_prehook(fail)).sum().backward()
    assert vars(caught.value)["_tidy_node"] == "MulBackward0"


@pytest.mark.usefixtures("loop")
def test_nodes_run_in_the_order_of_their_numbers():
    order, x = [], rt.tensor([1.0], requires_grad=True)
    first = Calls.apply(x, lambda: order.append("first"))
    second = Calls.apply(x, lambda: order.append("second"))
    third = Calls.apply(first, lambda: order.append("third"))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("leaf"))
    (third + second).sum().backward()
    assert order == ["third", "second", "first", "leaf"]
