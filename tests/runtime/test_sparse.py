"""Sparse gradients beside their sums, which test_golden.py compares with PyTorch's."""

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


def rows(weight, *index):
    return Rows.apply(weight, np.array(index, np.int64))


def test_a_gradient_somebody_holds_is_not_changed():
    w = rt.zeros(3, 1, requires_grad=True)
    given = SparseTensor(np.array([[1, 1]]), np.ones((2, 1), "float32"), (3, 1))
    w.backward(given)
    w.grad._values().array[:] = 7
    rows(w, 0).sum().backward()
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
        loss = (rows(w, 1) * float("nan")).sum()
        with pytest.raises(RuntimeError, match="nan"):
            loss.backward()
