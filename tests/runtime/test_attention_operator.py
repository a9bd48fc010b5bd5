"""Attention as one operator, and where it is made of others; PyTorch has its numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.profiler import profile

_attend = torch.nn.functional.scaled_dot_product_attention
_FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"


def _inputs() -> list[Any]:
    stream = np.random.default_rng(0)
    return [torch.tensor(stream.standard_normal((2, 3, n, 4))).requires_grad_() for n in (5, 7, 7)]


def _mask(kind: str) -> Any:
    visible = np.tril(np.ones((5, 7)), -1) > 0  # the first query may look nowhere
    if kind == "bool":
        return torch.tensor(visible)
    if kind == "infinite":
        return torch.tensor(np.where(visible, 0, -math.inf))
    return torch.tensor(np.random.default_rng(1).standard_normal((2, 1, 5, 7)))


@pytest.mark.parametrize("kind", ["three dimensions", "a mask that learns", "dropout", "gradients"])
def test_a_query_that_may_look_nowhere_gives_zeros(kind: str) -> None:
    given, mask = _inputs(), _mask("infinite").requires_grad_(kind == "a mask that learns")
    given = [x[0] for x in given] if kind == "three dimensions" else given
    found = _attend(*given, mask, 0.5 if kind == "dropout" else 0.0)
    assert not found[..., 0, :].any()
    grads = torch.autograd.grad((found**3).sum(), given, create_graph=True)
    grads = torch.autograd.grad(sum((g**2).sum() for g in grads), given)
    assert all(torch.isfinite(g).all() for g in grads)


@pytest.mark.parametrize("kind", ["float", "bool"])
def test_gradients_are_of_the_mask_that_was_given(kind: str) -> None:
    def gradient(change: bool) -> Any:
        given, mask = _inputs(), _mask(kind)
        found = _attend(*given, mask)
        if change:
            mask.zero_()
        return torch.autograd.grad((found**3).sum(), given[0])[0].numpy()

    if kind == "float":
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            gradient(change=True)
    else:
        np.testing.assert_array_equal(gradient(change=True), gradient(change=False))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
        np.testing.assert_array_equal(gradient(change=True), gradient(change=False))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_heads_are_joined_by_a_view(dtype: str) -> None:
    x = torch.zeros(2, 4, 2, 8, dtype=getattr(torch, dtype)).transpose(1, 2)
    assert _attend(x, x, x).transpose(1, 2).view(2, 4, 16).dtype == x.dtype


def test_gradients_of_gradients_by_one_tensor_in_three_places() -> None:
    x = torch.tensor(np.random.default_rng(0).standard_normal((1, 2, 3, 2))).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: _attend(x, x, x, is_causal=True), (x,))


def test_observers_see_one_operator_each_way() -> None:
    with profile() as profiler:
        _attend(*_inputs(), _mask("float")).sum().backward()
    names = [event.name for event in profiler.trace.dfs()]
    assert names.count(_FLASH) == names.count(f"{_FLASH}_backward") == 1
    assert "aten::softmax" not in names


@pytest.mark.parametrize("why", ["dropout", "a mask that learns", "three dimensions"])
def test_what_it_does_not_take_is_made_of_others(why: str) -> None:
    given, mask = _inputs(), _mask("float").requires_grad_(why == "a mask that learns")
    given = [x[:, 0] for x in given] if why == "three dimensions" else given
    mask = mask[:, 0] if why == "three dimensions" else mask
    with profile() as profiler:
        _attend(*given, mask, 0.5 if why == "dropout" else 0.0).sum().backward()
    names = {event.name for event in profiler.trace.dfs()}
    assert "aten::_scaled_dot_product_attention_math" in names
    assert _FLASH not in names
