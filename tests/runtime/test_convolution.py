"""Convolution of a batch, which is computed in another order than that of single samples."""

import numpy as np
import pytest

import tidy.runtime as rt

# Dimensions, channels, filters, groups, stride, padding, dilation.
CASES = [
    (1, 4, 3, 1, 1, 0, 1),
    (1, 4, 2, 2, 2, 1, 1),
    (2, 4, 6, 1, 1, 1, 2),
    (2, 4, 8, 4, 3, 1, 1),
    (3, 2, 4, 2, 2, 2, 2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("batch", [0, 2, 9])
def test_a_batch_is_convolved_as_its_samples_are(case: tuple[int, ...], batch: int) -> None:
    """Outputs and all gradients are those of the samples one by one."""
    n, channels, filters, groups, *how = case
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> rt.Tensor:
        return rt.from_numpy(rng.standard_normal(shape)).requires_grad_()

    x, bias = normal(batch, channels, *(9, 8, 7)[:n]), normal(filters)
    weight = normal(filters, channels // groups, *(3, 2, 3)[:n])
    convolve = getattr(rt, f"conv{n}d")
    found = convolve(x, weight, bias, *how, groups)
    given = rt.from_numpy(rng.standard_normal(found.shape))
    of_batch = rt.autograd.grad(found, (x, weight, bias), given)
    alone = [convolve(sample, weight, bias, *how, groups) for sample in x.unbind()]
    if not batch:
        assert all(not gradient.numpy().any() for gradient in of_batch)
        return
    assert found.is_contiguous()
    assert np.allclose(found.detach(), rt.stack(alone).detach())
    of_samples = rt.autograd.grad(alone, (x, weight, bias), list(given.unbind()))
    for one, other in zip(of_batch, of_samples, strict=True):
        assert one.is_contiguous()
        assert np.allclose(one, other)
