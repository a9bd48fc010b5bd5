"""Sparse gradients: what the engine adds them up to, as in PyTorch."""

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.ops.sparse import SparseTensor


class Rows(rt.autograd.Function):
    """`weight[index]`, with a sparse gradient."""

    @staticmethod
    def forward(ctx, weight, index):
        ctx.index, ctx.size = index, weight.array.shape
        return rt.tensor(weight.array[index])

    @staticmethod
    def backward(ctx, grad):
        rows = grad.array.reshape(-1, *ctx.size[1:])
        return SparseTensor(np.asarray(ctx.index).reshape(1, -1), rows, ctx.size), None


def rows(torch, weight, *index):
    if torch is rt:
        return Rows.apply(weight, np.array(index, np.int64))
    index = torch.tensor(index, dtype=torch.int64)
    return torch.nn.functional.embedding(index, weight, sparse=True)


def shown(grad):
    if not grad.is_sparse:
        return grad.tolist()
    thin = grad.coalesce()
    return (
        *(grad._indices().tolist(), grad._values().tolist(), grad.is_coalesced(), grad._nnz()),
        *(thin.indices().tolist(), thin.values().tolist(), thin.is_coalesced()),
        *(list(grad.shape), grad.to_dense().tolist(), str(grad.layout), grad.requires_grad),
    )


def accumulation(torch, w):
    """`.grad` over several backwards: sparse, += sparse, += dense, += sparse."""
    found, before = [], None
    for loss in (
        rows(torch, w, 1, 0, 1).sum(),
        (rows(torch, w, 2, 2) * 2).sum(),
        (w * 3).sum(),
        rows(torch, w, 0, 0).sum(),
    ):
        loss.backward()
        found.append((shown(w.grad), w.grad is before))
        before = w.grad
    return found


def one_buffer(torch, w):
    """Several gradients for one node."""
    a = rows(torch, w, 3, 1).sum() + (rows(torch, w, 2, 0) * 2).sum() + rows(torch, w, 3).sum() * 5
    b = rows(torch, w, 3, 1).sum() + (w * 2).sum()
    c = (w * 2).sum() + rows(torch, w, 3, 1, 3).sum() + (w * w).sum() + rows(torch, w, 0).sum()
    return [shown(torch.autograd.grad(y, w)[0]) for y in (a, b, c)]


def coalesced(torch, w):
    """One row, or none, is coalesced; two such add up to one that is."""
    y = rows(torch, w, 2).sum() + rows(torch, w, 1).sum() + rows(torch, w, 2).sum()
    found = [shown(torch.autograd.grad(y, w)[0])]
    for index in ((), (2,)):
        (grad,) = torch.autograd.grad(rows(torch, w, *index).sum(), w)
        found.append((shown(grad), grad.coalesce() is grad))
    return found


def hooks(torch, w):
    """Hooks get the sparse gradient and may give another."""
    seen = []
    w.register_hook(lambda g: seen.append((g.is_sparse, shown(g))) or g + g)
    w.register_post_accumulate_grad_hook(lambda t: seen.append(shown(t.grad)))
    rows(torch, w, 1, 2, 1).sum().backward()
    return seen


def recorded(torch, w):
    """With create_graph, a dense part stays differentiable."""
    y = rows(torch, w, 1, 1).sum() + (w * w * w).sum()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), w, retain_graph=True)
    return g.tolist(), h.tolist()


def refusals(torch, w):
    rows(torch, w, 1, 1).sum().backward()
    found = []
    for call in (w.grad.indices, w.grad.values):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call()
        found.append((caught.type, str(caught.value)))
    return found


CASES = [accumulation, one_buffer, coalesced, hooks, recorded, refusals]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_as_in_pytorch(case):
    torch = pytest.importorskip("torch")
    start = [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0], [3.5, 4.0]]
    ours, theirs = (t.tensor(start, dtype=t.float64, requires_grad=True) for t in (rt, torch))
    assert case(rt, ours) == case(torch, theirs)


def test_sums():
    w = rt.zeros(4, 2, requires_grad=True)
    (rows(rt, w, 1, 3, 1) * 2).sum().backward()
    assert w.grad.is_sparse
    assert w.grad.to_dense().tolist() == [[0, 0], [4, 4], [0, 0], [2, 2]]
    (w * 1).sum().backward()
    assert w.grad.tolist() == [[1, 1], [5, 5], [1, 1], [3, 3]]


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


def test_other_operators_refuse():
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


STEPS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "maximize": True}),
    ("SparseAdam", {}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    ("SparseAdam", {"lr": 0.1, "maximize": True}),
    ("Adam", {}),
    ("AdamW", {}),
    ("RMSprop", {}),
]


def stepped(torch, name, options, dense=False):
    """A table after some steps, and its state; or the class of the error."""
    weight = torch.tensor(np.arange(8.0).reshape(4, 2), requires_grad=True)
    try:
        optimizer = getattr(torch.optim, name)([weight], **options)
        for indices in ([1, 1, 3], [0], [], [3, 0, 3, 1]):
            index = torch.tensor(indices, dtype=torch.int64)
            found = torch.nn.functional.embedding(index, weight, sparse=not dense)
            optimizer.zero_grad()
            (found * found).sum().backward()
            optimizer.step()
    except (RuntimeError, ValueError, NotImplementedError, TypeError, AttributeError) as error:
        return type(error).__name__
    state = optimizer.state_dict()["state"].get(0, {})
    shown = {k: v.to_dense().tolist() if hasattr(v, "to_dense") else v for k, v in state.items()}
    return weight.tolist(), {k: v for k, v in shown.items() if v is not None}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "options"), STEPS)
def test_optimizers_step_sparse_gradients_as_pytorchs(name, options):
    torch = pytest.importorskip("torch")
    ours, theirs = (stepped(t, name, options) for t in (rt, torch))
    if isinstance(theirs, str):
        assert ours == theirs
        return
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert ours[1].keys() == theirs[1].keys()
    for key, value in theirs[1].items():
        np.testing.assert_allclose(ours[1][key], value, rtol=1e-12, atol=1e-12)


@pytest.mark.oracle
def test_a_dense_gradient_is_refused_by_the_sparse_optimizer_alone():
    torch = pytest.importorskip("torch")
    for t in (rt, torch):
        assert stepped(t, "SparseAdam", {}, dense=True) == "RuntimeError"
        weight = t.ones(2, requires_grad=True)
        weight.grad = t.ones(2)
        for name in ("SGD", "Adagrad"):
            getattr(t.optim, name)([weight]).step()


def test_rows_that_no_gradient_came_for_stay_as_they_are():
    weight = rt.zeros(3, 2, requires_grad=True)
    rt.nn.functional.embedding(rt.tensor([2, 2]), weight, sparse=True).sum().backward()
    rt.optim.SGD([weight], lr=0.5).step()
    assert weight.tolist() == [[0, 0], [0, 0], [-1, -1]]
    assert weight.grad.is_sparse
