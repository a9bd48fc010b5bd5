"""Norms of many float32 against float64, and what is recorded, kept and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch

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


def test_checkpoints_keep_no_work_of_fused_operators() -> None:
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


def test_batch_norm_wants_two_dimensions() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        F.batch_norm(torch.ones(3), torch.zeros(3), torch.ones(3))
