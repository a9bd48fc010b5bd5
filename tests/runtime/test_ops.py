"""Operators: that each has a sample, and the moments of what is random."""

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.ops.make.table import TABLE

from .samples import SAMPLES, run
from .samples_in_place import IN_PLACE

SAMPLES = [*SAMPLES, *IN_PLACE]
SEEN: set[str] = set()
ids = [f"{n}-{s.code[:40]}" for n, s in enumerate(SAMPLES)]


def test_every_operator_with_a_formula_has_a_sample():
    handle = rt.add_callback(lambda record: SEEN.add(record.name))
    try:
        for sample in SAMPLES:
            run(rt, sample)
    finally:
        handle.remove()
    elsewhere = {"aten::copy", "aten::fill", "aten::zero", "aten::native_dropout"}
    elsewhere |= {"aten::normal", "aten::uniform", "aten::exponential"}
    elsewhere |= {"aten::_standard_gamma", "aten::bernoulli", "aten::poisson", "aten::random"}
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


def test_gumbel_softmax_chooses_by_the_logits():
    rt.manual_seed(4)
    shares = rt.tensor([0.1, 0.6, 0.3], dtype=rt.float64)
    logits = shares.log().expand(20000, 3).clone().requires_grad_()
    soft = rt.nn.functional.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(-1).detach().numpy(), 1)
    hard = rt.nn.functional.gumbel_softmax(logits, hard=True)
    assert set(np.unique(hard.detach().numpy().round(12))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.detach().mean(0).numpy(), shares.numpy(), atol=0.02)
    for out in (soft, hard):  # both have the gradient of the soft one: it moves shares about
        (grad,) = rt.autograd.grad(out[:, 1].sum(), logits)
        np.testing.assert_allclose(grad.sum(-1).numpy(), 0, atol=1e-12)
        assert (grad[:, 1] > 0).all()


def test_rrelu_draws_slopes_within_its_bounds():
    x = -rt.ones(2000, requires_grad=True)
    out = rt.nn.RReLU(0.2, 0.5)(x)
    slopes = -out.detach().numpy()
    assert 0.2 <= slopes.min() < 0.21
    assert 0.49 < slopes.max() <= 0.5
    assert rt.nn.RReLU(0.2, 0.5)(rt.ones(3)).tolist() == [1, 1, 1]
    x = rt.ones(3, requires_grad=True)
    (x * 2).normal_().sum().backward()
    assert not x.grad.numpy().any()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.uniform_()


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
