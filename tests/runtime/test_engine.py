"""The engine by itself, with each of its loops, and sparse gradients; no PyTorch needed."""
# ruff: noqa: ARG005, PT030, PT031

import asyncio
import gc
import sys
import threading
import traceback

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import autograd
from tidy.runtime.engine import engine
from tidy.runtime.ops.sparse import SparseTensor

from .observed import names_in
from .questions_sparse import rows
from .scripts_of_functions import function_of


@pytest.fixture(params=[False, True], ids=["plain", "full"], autouse=True)
def _loop(request, monkeypatch):
    """Each test runs with the plain loop where that will do, and again with the full one alone."""
    monkeypatch.setattr(engine, "ALWAYS_FULL", request.param)


def test_memory_of_chains_saved_tensors_and_gradients():
    x = rt.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y
    x = rt.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    y.grad.add_(rt.arange(3))
    assert (y.grad.tolist(), x.grad.tolist()) == ([1, 2, 3], [2, 2, 2])
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = y.grad_fn._saved_result


def test_graph_goes_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        x = rt.ones(3, requires_grad=True)
        (x.exp().tanh() * x).sum().backward()
        before = len(gc.get_objects())
        for _ in range(10):
            (x.exp().tanh() * x).sum().backward()
        assert len(gc.get_objects()) - before < 20
    finally:
        gc.enable()


def test_exception_names_the_node():
    def fail(ctx, grad):
        raise ValueError("mine")

    bad = function_of(rt, lambda ctx, x: x * 2, fail)
    with pytest.raises(ValueError, match="mine") as caught:
        bad.apply(rt.ones(2, requires_grad=True)).sum().backward()
    if sys.version_info >= (3, 11):
        assert any("MadeBackward" in note for note in caught.value.__notes__)
    assert "raise ValueError" in "".join(traceback.format_exception(caught.value))


def test_nested_anomaly_names_both_forwards():
    x = rt.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning) as caught, autograd.detect_anomaly():
        (g,) = autograd.grad((x * 1).sqrt().sum(), x, create_graph=True)
        bad = (g - 0.5).sqrt() * 0
        with pytest.raises(RuntimeError, match="returned nan"):
            bad.sum().backward()
    assert "bad = (g - 0.5)" in str(caught[0].message)


def test_async():
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    (g,) = autograd.grad_async((x * x).sum(), x).result(10)
    assert g.tolist() == [2.0, 4.0]
    autograd.backward_async((x * 3).sum()).result(10)
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="scalar"):
        autograd.backward_async(x * 1).result(10)


@pytest.mark.parametrize("trim", [True, False])
def test_trimming_leaves_out_formulas(trim, monkeypatch):
    monkeypatch.setattr(engine, "TRIM", trim)
    x, w = rt.ones(2, 3, requires_grad=True), rt.ones(3, 3, requires_grad=True)
    y = (x @ w).sum()
    names = names_in(lambda: autograd.grad(y, x))
    assert names.count("aten::mm") == (1 if trim else 2)


def test_a_coroutine_is_in_the_mode_that_decorates_it():
    """Until it ends, where PyTorch leaves the mode before the coroutine begins."""

    @rt.no_grad()
    async def later():
        await asyncio.sleep(0)
        return rt.is_grad_enabled()

    assert asyncio.run(later()) is False
    assert rt.is_grad_enabled()


def test_threads_have_sequence_numbers_and_observers_of_their_own():
    found = []

    def work():
        x = rt.ones(1, requires_grad=True)
        found.append((x * 2).grad_fn.sequence_nr)

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [0, 0]
    seen = []
    with rt.add_callback(lambda r: seen.append(r.name), thread_local=True):
        thread = threading.Thread(target=lambda: rt.ones(1).exp())
        thread.start()
        thread.join()
        rt.ones(1).sin()
    assert seen == ["aten::ones", "aten::sin"]


def test_observers_see_what_conversions_zeros_and_assignments_are_made_of():
    """questions_trees.py has what layers are made of, and how that is nested."""
    x, two = rt.ones(2, 3), rt.ones(2)
    for call, names in (
        (x.double, "to _to_copy copy_"),
        (lambda: rt.zeros(2, 3), "zeros empty zero_"),
        (lambda: x.__setitem__(0, 1.0), "select fill_"),
        (lambda: x.__setitem__((0, slice(1, None)), two), "select slice copy_"),
    ):
        assert names_in(call) == [f"aten::{name}" for name in names.split()]


def test_observers_get_sequence_numbers_and_inputs():
    forward, backward = {}, {}

    def enter(record):
        (backward if record.scope == 1 else forward)[record.name] = record

    x = rt.ones(3, requires_grad=True)
    with rt.add_callback(enter, needs_inputs=True):
        y = x.exp()
        rt.ones(3).exp2()
        rt.cat([y, y]).sum().backward()
    assert forward["aten::exp"].sequence_nr == y.grad_fn.sequence_nr
    assert backward["ExpBackward0"].sequence_nr == y.grad_fn.sequence_nr
    assert forward["aten::cat"].sequence_nr == backward["CatBackward0"].sequence_nr >= 0
    assert backward["ExpBackward0"].forward_thread_id == threading.get_ident()
    assert forward["aten::exp2"].sequence_nr == -1
    assert forward["aten::exp"].inputs[0] is x


class Calls(autograd.Function):
    """The identity, whose backward calls a function."""

    @staticmethod
    def forward(ctx, x, function):
        ctx.call = function
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.call()
        return grad, None


def test_a_hook_on_a_leaf_registered_by_a_running_node():
    x, seen = rt.tensor([1.0], requires_grad=True), []

    def register():
        x.register_hook(lambda grad: seen.append(grad.tolist()) or grad * 10)

    (Calls.apply(x, register) * 3).sum().backward()
    assert (seen, x.grad.tolist()) == ([[3.0]], [30.0])


def test_hooks_on_nodes_that_wait_registered_by_a_running_node():
    x, seen = rt.tensor([2.0], requires_grad=True), []
    inner = x * 5
    branch = inner * 7  # its gradient is in before that of the other branch runs

    def register():
        inner.grad_fn.register_prehook(lambda grads: seen.append(grads[0].tolist()))
        inner.grad_fn.register_hook(lambda after, before: (after[0] * 2, None))

    (branch + Calls.apply(inner, register)).sum().backward()
    assert (seen, x.grad.tolist()) == ([[8.0]], [80.0])


def test_an_observer_that_starts_and_ends_inside():
    x, seen, handles = rt.tensor([1.0], requires_grad=True), [], []

    def start():
        handles.append(rt.add_callback(lambda record: seen.append((record.scope, record.name))))

    y = Calls.apply(x * 3, lambda: handles.pop().remove()).exp()
    Calls.apply(y, start).sum().backward()
    nodes = [name for scope, name in seen if scope == 1]
    assert nodes == ["ExpBackward0", "CallsBackward"]
    assert x.grad.tolist() == pytest.approx([3 * 20.085536923187668])


def test_an_error_after_the_change_names_its_node():
    x = rt.tensor([1.0], requires_grad=True)
    y = x * 2

    def fail(grads):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        Calls.apply(y, lambda: y.grad_fn.register_prehook(fail)).sum().backward()
    assert vars(caught.value)["_tidy_node"] == "MulBackward0"


def test_a_gradient_somebody_holds_is_not_changed():
    w = rt.zeros(3, 1, requires_grad=True)
    given = SparseTensor(np.array([[1, 1]]), np.ones((2, 1), "float32"), (3, 1))
    w.backward(given)
    w.grad._values().array[:] = 7
    rows(rt, w, 0).sum().backward()
    assert given.to_dense().tolist() == [[0], [2], [0]]


def test_a_gradient_that_does_not_fit():
    x, values = rt.ones(3, 2, requires_grad=True), np.ones((1, 2), "float32")
    for size, array in (((4, 2), values), ((3, 2), values.astype("float64"))):
        grad = SparseTensor(np.array([[1]]), array, size)
        with pytest.raises((RuntimeError, NotImplementedError)):
            (x * 1).backward(grad)
    grad = SparseTensor(np.array([[1]]), np.ones((1, 2), "float32"), (3, 2))
    for call in (grad.exp, grad.sum, grad.t, lambda: grad * 2, lambda: grad[0], lambda: grad + 1):
        with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
            call()


@pytest.mark.filterwarnings("ignore")
def test_anomaly_mode_looks_at_the_rows():
    w = rt.ones(3, 1, requires_grad=True)
    with rt.autograd.detect_anomaly():
        loss = (rows(rt, w, 1) * float("nan")).sum()
        with pytest.raises(RuntimeError, match="nan"):
            loss.backward()
