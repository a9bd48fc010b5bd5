"""Operators: against PyTorch (oracle), and against differences (no PyTorch)."""

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.gradcheck import gradcheck, gradgradcheck
from tidy.runtime.ops.table import TABLE

from .samples import SAMPLES, arrays, evaluate
from .samples_in_place import IN_PLACE

SAMPLES = [*SAMPLES, *IN_PLACE]
SEEN: set[str] = set()
ids = [f"{n}-{s.code[:40]}" for n, s in enumerate(SAMPLES)]


def run(torch, sample):
    """Value, gradients and second gradients (None: none) as arrays."""
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays(sample)]
    out = evaluate(torch, sample, tensors)
    found = [out.numpy(force=True)]
    weight = torch.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
    grads = torch.autograd.grad(
        (out * weight).sum(), tensors, create_graph=True, materialize_grads=True
    )
    found += [g.numpy(force=True) for g in grads]
    total = sum((g * g).sum() for g in grads)
    if sample.twice and total.requires_grad:
        second = torch.autograd.grad(total, tensors, materialize_grads=True)
        found += [g.numpy(force=True) for g in second]
    return found


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", SAMPLES, ids=ids)
def test_as_pytorch(sample):
    torch = pytest.importorskip("torch")
    ours, theirs = run(rt, sample), run(torch, sample)
    for a, b in zip(ours, theirs, strict=False):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=sample.rtol, atol=1e-11)
    for rest in (*ours[len(theirs) :], *theirs[len(ours) :]):
        assert not rest.any()  # one says zero, the other that there is nothing to differentiate


NUMERIC = [(s, i) for s, i in zip(SAMPLES, ids, strict=True) if s.numeric]


@pytest.mark.parametrize("sample", [pytest.param(s, id=i) for s, i in NUMERIC])
def test_gradcheck(sample):
    tensors = [rt.tensor(a, requires_grad=True) for a in arrays(sample)]

    def function(*args):
        return evaluate(rt, sample, args)

    assert gradcheck(function, tensors)
    if sample.twice and function(*tensors).requires_grad:
        assert gradgradcheck(function, tensors)


def test_every_operator_with_a_formula_has_a_sample():
    handle = rt.add_callback(lambda record: SEEN.add(record.name))
    try:
        for sample in SAMPLES:
            run(rt, sample)
    finally:
        handle.remove()
    elsewhere = {"aten::copy", "aten::fill", "aten::zero", "aten::native_dropout"}
    elsewhere |= {"aten::normal", "aten::uniform", "aten::exponential"}
    missing = {op.name for op in TABLE.values() if op.parse().formulas and not op.in_place}
    missing -= SEEN | elsewhere
    assert not missing


def test_dropout_keeps_the_mean_and_its_gradient_is_its_mask():
    rt.manual_seed(3)
    x = rt.ones(400, 500, dtype=rt.float64, requires_grad=True)
    out = rt.nn.functional.dropout(x, 0.2)
    out.sum().backward()
    kept = out.numpy(force=True)
    assert set(np.unique(kept)) == {0.0, 1.25}
    assert abs(kept.mean() - 1) < 0.02
    np.testing.assert_array_equal(x.grad.numpy(), kept)
    assert rt.nn.functional.dropout(x, 0.2, training=False) is x
    with pytest.raises(ValueError, match="between 0 and 1"):
        rt.nn.functional.dropout(x, 1.2)


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [
        (lambda t: t.normal_(2.0, 3.0), 2.0, 3.0),
        (lambda t: t.uniform_(-1, 3), 1.0, 4 / 12**0.5),
        (lambda t: t.exponential_(0.5), 2.0, 2.0),
        (lambda t: rt.randn(t.shape), 0.0, 1.0),
        (rt.rand_like, 0.5, 12**-0.5),
        (rt.randn_like, 0.0, 1.0),
        (lambda t: rt.rand(len(t)), 0.5, 12**-0.5),
        (lambda t: rt.normal(2.0, 3.0, t.shape), 2.0, 3.0),
        (lambda t: rt.normal(rt.full_like(t, 2.0), rt.full_like(t, 3.0)), 2.0, 3.0),
        (lambda t: rt.randint(7, t.shape).float(), 3.0, 2.0),
        (lambda t: rt.randint(3, 10, t.shape).float(), 6.0, 2.0),
        (lambda t: rt.randperm(len(t)) / len(t), 0.5, 12**-0.5),
        (lambda t: rt.multinomial(rt.tensor([1.0, 0, 3]), len(t), True).float(), 1.5, 0.75**0.5),
        (lambda t: rt.bernoulli(rt.full_like(t, 0.3)), 0.3, 0.21**0.5),
    ],
)
def test_draws_have_their_moments_and_come_again_from_their_seed(draw, mean, std):
    found = []
    for _ in range(2):
        rt.manual_seed(11)
        found.append(draw(rt.empty(100_000)).numpy())
    np.testing.assert_array_equal(*found)
    assert abs(found[0].mean() - mean) < 0.03 * (1 + std)
    assert abs(found[0].std() - std) < 0.03 * (1 + std)


def test_what_is_drawn_in_place_does_not_depend_on_what_was_there():
    x = rt.ones(3, requires_grad=True)
    (x * 2).normal_().sum().backward()
    assert not x.grad.numpy().any()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.uniform_()
