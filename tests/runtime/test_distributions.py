"""Samples of distributions have their moments, and gradients flow through them."""

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.distributions import continuous

D = rt.distributions
MANY = 40_000
CASES = {
    "normal": lambda: D.Normal(1.0, 2.0),
    "uniform": lambda: D.Uniform(-1.0, 3.0),
    "laplace": lambda: D.Laplace(1.0, 2.0),
    "gamma": lambda: D.Gamma(rt.tensor([0.5, 3.0]), rt.tensor([1.0, 2.0])),
    "beta": lambda: D.Beta(rt.tensor([0.5, 2.0]), rt.tensor([1.0, 3.0])),
    "dirichlet": lambda: D.Dirichlet(rt.tensor([1.0, 2.0, 3.0])),
    "bernoulli": lambda: D.Bernoulli(rt.tensor([0.2, 0.9])),
    "multivariate": lambda: D.MultivariateNormal(
        rt.tensor([1.0, -1.0]), rt.tensor([[2.0, 0.5], [0.5, 1.0]])
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_mean_and_the_variance(name):
    rt.manual_seed(7)
    one = CASES[name]()
    drawn = one.sample((MANY,)).numpy()
    mean, variance = one.mean.numpy(), one.variance.numpy()
    np.testing.assert_allclose(drawn.mean(0), mean, atol=5 * np.sqrt(variance.max() / MANY))
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.15)


def test_categorical_draws_as_often_as_it_should():
    rt.manual_seed(1)
    drawn = D.Categorical(rt.tensor([0.2, 0.5, 0.3])).sample((MANY,)).numpy()
    np.testing.assert_allclose(np.bincount(drawn) / MANY, [0.2, 0.5, 0.3], atol=0.02)


def test_the_gradient_of_a_mean_is_that_of_its_samples():
    """D E[x] / d parameter, estimated by samples that gradients flow through."""
    rt.manual_seed(3)
    for make, wanted in (
        (lambda p: D.Normal(p, 1.0), 1.0),
        (lambda p: D.Normal(0.0, p), 0.0),
        (lambda p: D.Gamma(rt.tensor(1.5), p), -1.5 / 1.5**2),
    ):
        p = rt.tensor(1.5, requires_grad=True)
        make(p).rsample((MANY,)).mean().backward()
        assert abs(p.grad.item() - wanted) < 0.02


@pytest.mark.parametrize("make", [D.Gamma, D.Beta, lambda p, q: D.Dirichlet(rt.stack([p, q]))])
def test_no_gradient_flows_through_samples_of_gamma_and_its_kin(make):
    p = rt.tensor(1.5, requires_grad=True)
    drawn = make(p, rt.tensor(2.0)).rsample()
    with pytest.raises(NotImplementedError, match="samples of Gamma"):
        drawn.sum().backward()


def test_a_sample_may_be_one_number():
    for drawn in (D.Gamma(rt.tensor(1.5), 2.0).sample(), rt.poisson(rt.tensor(3.0))):
        assert (drawn.shape, drawn.dtype, drawn.item() >= 0) == ((), rt.float32, True)


def test_no_divergence_is_that_of_other_kinds():
    with pytest.raises(NotImplementedError, match="implemented"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Laplace(0.0, 1.0))


def test_no_sample_of_laplace_is_infinite(monkeypatch):
    monkeypatch.setattr(continuous, "random", lambda *_: rt.zeros(3))
    assert D.Laplace(1.0, 2.0).sample((3,)).isfinite().all()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_no_share_of_16_bits_is_1_and_no_sample_infinite(name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    rt.manual_seed(0)
    dtype = getattr(rt, name)
    drawn = rt.rand(200_000, dtype=dtype)
    assert drawn.dtype == dtype
    assert (drawn.float().min(), drawn.float().max() < 1) == (0, True)
    loc = rt.zeros((), dtype=dtype)
    assert D.Laplace(loc, loc + 1).sample((200_000,)).isfinite().all()


@pytest.mark.parametrize("dtype", [rt.float16, rt.float32, rt.float64])
def test_numbers_drawn_are_below_the_upper_end(dtype, monkeypatch):
    class Highest:
        def uniform(self, low, high, shape):
            return np.full(shape, np.nextafter(high, low))

    monkeypatch.setattr(rt.default_generator, "_stream", Highest())
    assert (rt.empty(3, dtype=dtype).uniform_() < 1).all()
    assert (rt.empty(3, dtype=dtype).uniform_(-2, -1) < -1).all()
    assert rt.empty(3, dtype=dtype).uniform_(2, 2).tolist() == [2, 2, 2]
