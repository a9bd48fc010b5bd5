"""Convolutions of batches beside those of samples, and what norms compute, keep and refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch

# Dimensions, channels, filters, groups, stride, padding, dilation.
CASES = [
    (1, 4, 3, 1, 1, 0, 1), (1, 4, 2, 2, 2, 1, 1), (2, 4, 6, 1, 1, 1, 2), (2, 4, 8, 4, 3, 1, 1),
    (3, 2, 4, 2, 2, 2, 2),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("batch", [0, 2, 9])
def test_a_batch_is_convolved_as_its_samples_are(case: tuple[int, ...], batch: int) -> None:
    """Outputs and all gradients are those of the samples one by one."""
    n, channels, filters, groups, *how = case
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.standard_normal(shape)).requires_grad_()

    x, bias = normal(batch, channels, *(9, 8, 7)[:n]), normal(filters)
    weight = normal(filters, channels // groups, *(3, 2, 3)[:n])
    convolve = getattr(torch, f"conv{n}d")
    found = convolve(x, weight, bias, *how, groups)
    given = torch.from_numpy(rng.standard_normal(found.shape))
    of_batch = torch.autograd.grad(found, (x, weight, bias), given)
    alone = [convolve(sample, weight, bias, *how, groups) for sample in x.unbind()]
    if not batch:
        assert all(not gradient.numpy().any() for gradient in of_batch)
        return
    assert found.is_contiguous()
    assert np.allclose(found.detach(), torch.stack(alone).detach())
    of_samples = torch.autograd.grad(alone, (x, weight, bias), list(given.unbind()))
    for one, other in zip(of_batch, of_samples, strict=True):
        assert one.is_contiguous()
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
        F.batch_norm(torch.ones(3), None, None, training=True)
