"""Convolutions and norms beside sums of numpy, and what norms record, keep and refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
import tidy.runtime as torch

# Dimensions, channels, filters, groups, stride, padding, dilation.
CASES = [
    (1, 4, 3, 1, 1, 0, 1), (1, 4, 2, 2, 2, 1, 1), (2, 4, 6, 1, 1, 1, 2), (2, 4, 8, 4, 3, 1, 1),
    (3, 2, 4, 2, 2, 2, 2),
]  # fmt: skip
# Batch, channels, size, filters, kernel, stride, padding: both orders of computing, kernels of one
# element, and the first layer of a network.
SUMS = [
    (9, 8, 4, 2, 3, 1, 1), (9, 2, 12, 8, 3, 1, 1), (9, 6, 5, 3, 1, 1, 0), (9, 6, 5, 3, 1, 2, 0),
    (8, 3, 20, 4, 7, 2, 3), (2, 3, 20, 4, 7, 2, 3),
]  # fmt: skip


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


@pytest.mark.parametrize("case", SUMS, ids=str)
def test_a_convolution_is_the_sum_over_its_windows(case: tuple[int, ...]) -> None:
    """Output and gradients, against a loop over the elements of the kernel."""
    batch, channels, size, filters, kernel, stride, padding = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, channels, size, size))
    weight = rng.standard_normal((filters, channels, kernel, kernel))
    inputs = [rt.from_numpy(a).requires_grad_() for a in (x, weight)]
    found = rt.nn.functional.conv2d(*inputs, None, stride, padding)
    out = (size + 2 * padding - kernel) // stride + 1
    given = rng.standard_normal((batch, filters, out, out))
    wide = np.pad(x, ((0, 0), (0, 0), *[(padding, padding)] * 2))
    wanted, to_x, to_weight = np.zeros_like(given), np.zeros_like(wide), np.zeros_like(weight)
    for i in range(kernel):
        for j in range(kernel):
            met = np.s_[..., i : i + stride * out : stride, j : j + stride * out : stride]
            wanted += np.einsum("nchw,fc->nfhw", wide[met], weight[..., i, j])
            to_x[met] += np.einsum("nfhw,fc->nchw", given, weight[..., i, j])
            to_weight[..., i, j] = np.einsum("nfhw,nchw->fc", given, wide[met])
    assert np.allclose(found.detach(), wanted)
    gradients = rt.autograd.grad(found, inputs, rt.from_numpy(given))
    inner = np.s_[..., padding : padding + size, padding : padding + size]
    for one, other in zip(gradients, (to_x[inner], to_weight), strict=True):
        assert np.allclose(one, other)


F = torch.nn.functional
_NORMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "layer": (lambda x: F.layer_norm(x, x.shape[1:]), (1, 2, 3)),
    "group": (lambda x: F.group_norm(x, 1), (1, 2, 3)),
    "batch": (lambda x: F.batch_norm(x, None, None, training=True), (0, 2, 3)),
}


@pytest.mark.parametrize("name", _NORMS)
def test_many_elements_lose_no_digits(name: str) -> None:
    call, dims = _NORMS[name]
    x = np.random.default_rng(0).standard_normal((1, 2, 1000, 1001)).astype(np.float32) + 3
    wide = x.astype(np.float64)
    wanted = (wide - wide.mean(dims, keepdims=True)) / np.sqrt(wide.var(dims, keepdims=True) + 1e-5)
    found = call(torch.from_numpy(x)).numpy()
    assert np.abs(found - wanted).max() < 2e-6


def test_norms_keep_no_work_for_checkpoints_and_want_two_dimensions() -> None:
    """What backward needs beside inputs is made again, with the same gradients."""
    x = torch.tensor(np.random.default_rng(0).standard_normal((3, 4, 5))).requires_grad_()
    plain = torch.autograd.grad((F.group_norm(x, 2) ** 3).sum(), x)[0]
    packed: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(tensor)
        return tensor.detach().numpy()

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        loss = (F.group_norm(x, 2) ** 3).sum()
    node = loss.grad_fn
    while node is not None and "GroupNorm" not in node.name():
        node = node.next_functions[0][0]
    assert node.work is None
    assert packed
    assert (torch.autograd.grad(loss, x)[0] == plain).all()
    with pytest.raises(IndexError, match="Dimension out of range"):
        F.batch_norm(torch.ones(3), torch.zeros(3), torch.ones(3))
