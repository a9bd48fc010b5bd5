"""Functions of the user's own, and names that an import must not hide."""

# ruff: noqa: ARG004  (static methods have the arguments they have)

import importlib
import subprocess
import sys

import pytest

import tidy.runtime as rt


def endings(torch):
    """What backward is given for outputs that are no tensors, and setup_context for defaults."""
    seen = []

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "a word", x.long(), None

        @staticmethod
        def backward(ctx, *grads):
            seen.append([None if g is None else [*g.shape] for g in grads])
            return grads[0] * 2

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, factor=3.0, shift=1):
            return x * factor + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append([len(inputs), *inputs[1:], [*output.shape]])
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None, None

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, 5, x * 3

        @staticmethod
        def backward(ctx, *grads):
            seen.append([g is None for g in grads])
            return grads[2]

    x = torch.ones(2, requires_grad=True)
    out = Pair.apply(x)
    seen.append([type(o).__name__ for o in out])
    out[0].sum().backward()
    seen.append(x.grad.tolist())
    for args, kwargs in (((x,), {}), ((x, 5.0), {}), ((x,), {"shift": 2})):
        x.grad = None
        Scaled.apply(*args, **kwargs).sum().backward()
        seen.append(x.grad.tolist())
    Half.apply(x)[2].sum().backward()
    try:
        Scaled.apply()
    except TypeError:
        seen.append("TypeError")
    return seen


def test_functions_see_what_pytorch_shows_them():
    assert endings(rt) == [
        ["Tensor", "str", "Tensor", "NoneType"],
        [[2], None, [2], None],
        [2.0, 2.0],
        *([3, 3.0, 1, [2]], [3.0, 3.0], [3, 5.0, 1, [2]], [5.0, 5.0], [3, 3.0, 2, [2]], [3.0, 3.0]),
        [True, True, False],
        "TypeError",
    ]


@pytest.mark.oracle
def test_functions_see_what_pytorch_shows_them_today():
    assert endings(rt) == endings(pytest.importorskip("torch"))


NAMES = """
import tidy.runtime as torch
import tidy.runtime.utils as below
from tidy.runtime.autograd.gradcheck import GradcheckError
from tidy.runtime.autograd.function import once_differentiable
assert below.data.DataLoader is torch.utils.data.DataLoader
assert below.checkpoint.checkpoint and torch.utils.checkpoint.checkpoint_sequential
assert torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=float).requires_grad_())
assert torch.autograd.gradgradcheck.__name__ == "gradgradcheck"
"""


def test_an_import_hides_no_function():
    subprocess.run([sys.executable, "-c", NAMES], check=True)


def test_gradcheck_stays_a_function():
    importlib.import_module("tidy.runtime.autograd.gradcheck")
    assert callable(rt.autograd.gradcheck)
