"""The `_foreach_` operators, and what autocast does to operators, as PyTorch has them."""


# ruff: noqa: ARG005  (lambdas and Functions have the arguments they have)

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import amp
from tidy.runtime.ops.foreach import OPERATORS

from .test_optim_oracle import close, modules, raised

pytestmark = pytest.mark.oracle

# Foreach operators


OPERANDS = [np.array([[1.0, 4.0], [9.0, 2.0]]), np.array([2.0, 0.5, 3.0])]
FOREACH = {
    "add": [(2.0,), ([1.0, 2.0],), ("list",), ("list", {"alpha": 3})],
    "sub": [(2,), ("list", {"alpha": 0.5})],
    "mul": [(2.0,), ([1.0, 2.0],), ("list",), ("tensor",)],
    "div": [(2.0,), ("list",)],
    "maximum": [(2.0,), ("list",)],
    "minimum": [(2.0,)],
    "pow": [(2.0,), ([0.5, 2.0],), ("list",)],
    "addcmul": [("list", "list", {"value": 0.5}), ("list", "list"), ("list", "list", [1.0, 2.0])],
    "addcdiv": [("list", "list", {"value": 0.5}), ("list", "list", [1.0, 2.0])],
    "lerp": [("list", 0.25), ("list", "list")],
    "sqrt": [()],
    "neg": [()],
    "reciprocal": [()],
    "norm": [(), (1,), (float("inf"),)],
    "zero": [()],
    "copy": [("list",)],
}


def foreach(t, operators, name, args, kind):
    tensors = [t.tensor(x.astype(kind)) for x in OPERANDS]
    seconds = [t.tensor((x * 2 + 1).astype(kind)) for x in OPERANDS]
    named = {"list": seconds, "tensor": t.tensor(np.asarray(1.5, kind))}
    kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
    args = [named.get(x, x) if isinstance(x, str) else x for x in args if x is not kwargs]
    before = [x._version for x in tensors]
    found = operators(name)(tensors, *args, **kwargs)
    changed = [x._version - b for x, b in zip(tensors, before, strict=True)]
    return type(found).__name__, [x.numpy() for x in found], changed


@pytest.mark.parametrize("end", ["", "_"])
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", FOREACH)
def test_foreach(name, kind, end):
    torch, _ = modules("torch")
    full = f"_foreach_{name}{end}"
    assert (full in OPERATORS) == hasattr(torch, full)
    if full not in OPERATORS:
        return
    for args in FOREACH[name]:
        ours = foreach(rt, OPERATORS.get, full, args, kind)
        theirs = foreach(torch, lambda n: getattr(torch, n), full, args, kind)
        assert ours[0] == theirs[0]
        assert ours[2] == theirs[2]
        assert [x.dtype for x in ours[1]] == [x.dtype for x in theirs[1]]
        close(ours[1], theirs[1], 1e-6 if kind == "float32" else 1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda t, f: f("_foreach_add")([], 1),
        lambda t, f: f("_foreach_add")([t.ones(1)], [t.ones(1), t.ones(1)]),
        lambda t, f: f("_foreach_mul_")([t.ones(1)], [1.0, 2.0]),
        lambda t, f: f("_foreach_mul_")([t.ones(1, requires_grad=True)], 2),
        lambda t, f: f("_foreach_mul_")([t.ones(1, dtype=t.int64)], 0.5),
        lambda t, f: f("_foreach_mul")([t.ones(1, dtype=t.int64)], 0.5)[0].dtype == t.float32,
    ],
)
def test_foreach_errors(make):
    torch, _ = modules("torch")
    ours = raised(lambda: make(rt, OPERATORS.get))
    assert ours == raised(lambda: make(torch, lambda n: getattr(torch, n)))


@pytest.mark.parametrize("first", ["float32", "float64", "int64"])
@pytest.mark.parametrize("second", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_foreach_promotes(first, second, shape):
    torch, _ = modules("torch")
    seen = []
    for t, operators in ((torch, lambda n: getattr(torch, n)), (rt, OPERATORS.get)):
        a = [t.tensor(np.array([1, 2], first))]
        b = t.tensor(np.full(shape, 3, second))
        found = operators("_foreach_mul")(a, [b] if shape else b)
        seen.append((str(found[0].dtype).removeprefix("torch."), found[0].tolist()))
    assert seen[0] == seen[1]


# What autocast does to operators: the dtype of the result under PyTorch's says it

FLOATS = (4, 4)
CALLS = {
    "mm": lambda t, x: t.mm(x, x),
    "bmm": lambda t, x: t.bmm(x[None], x[None]),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "baddbmm": lambda t, x: t.baddbmm(x[None], x[None], x[None]),
    "matmul": lambda t, x: t.matmul(x, x),
    "linear": lambda t, x: t.nn.functional.linear(x, x),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[None], x[:, :, None]),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x[None, None], x[None, None]),
    "conv3d": lambda t, x: t.nn.functional.conv3d(x[None, None, None], x[None, None, None]),
    "scaled_dot_product_attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(
        x[None], x[None], x[None]
    ),
    "prod": lambda t, x: t.prod(x),
    **{
        name: lambda t, x, name=name: getattr(t.nn.functional, name)(x.sigmoid(), x.sigmoid())
        for name in (
            "mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy "
            "binary_cross_entropy_with_logits hinge_embedding_loss"
        ).split()
    },
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x, t.zeros(4, dtype=t.int64)),
    "cross_entropy_loss": lambda t, x: t.nn.functional.cross_entropy(x, t.zeros(4, dtype=t.int64)),
    "add": lambda t, x: x + x,
    "mul": lambda t, x: x * x,
    "exp": lambda t, x: x.exp(),
    "sum": lambda t, x: x.sum(),
    "mean": lambda t, x: x.mean(),
    "softmax": lambda t, x: x.softmax(0),
    "log_softmax": lambda t, x: x.log_softmax(0),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
    "pow": lambda t, x: x.pow(2),
    "cumsum": lambda t, x: x.cumsum(0),
    "norm": lambda t, x: x.norm(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_autocast_lists(name, low):
    torch, _ = modules("torch")
    x = torch.rand(FLOATS).to(torch.bfloat16 if low else torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        is_low = CALLS[name](torch, x).dtype is torch.bfloat16
    y = rt.rand(*FLOATS).to(rt.float16 if low else rt.float32)
    with amp.autocast("cpu", dtype=rt.float16):
        (found,) = amp.cast(f"aten::{name}", (y,))
    assert (found.dtype == rt.float16) == is_low


def test_every_listed_operator_is_tested():
    assert {*amp.LOWER, *amp.FLOAT32} <= {f"aten::{name}" for name in CALLS}
