"""Attention as one operator, against the one that is made of products and a softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.profiler import profile

_attend = torch.nn.functional.scaled_dot_product_attention
_FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"


def _inputs(length: int = 5) -> list[Any]:
    stream = np.random.default_rng(0)
    sizes = (5, length, length)
    return [torch.tensor(stream.standard_normal((2, 3, n, 4))).requires_grad_() for n in sizes]


def _mask(kind: str) -> Any:
    visible = np.tril(np.ones((5, 7)), -1) > 0  # the first query may look nowhere
    if kind == "bool":
        return torch.tensor(visible)
    if kind == "infinite":
        return torch.tensor(np.where(visible, 0, -math.inf))
    return torch.tensor(np.random.default_rng(1).standard_normal((2, 1, 5, 7)))


def _by_hand(q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = q @ k.transpose(-2, -1) / 2 + mask
    return torch.softmax(scores, -1) @ v


@pytest.mark.parametrize("kind", ["causal", "plain", "float"])
def test_it_is_a_softmax_between_two_products(kind: str) -> None:
    q, k, v = given = _inputs(5 if kind == "causal" else 7)
    mask = None if kind in {"causal", "plain"} else _mask(kind)
    found = _attend(q, k, v, mask, is_causal=kind == "causal")
    causal = torch.full((5, 5), -math.inf, dtype=torch.float64).triu(1)
    added = causal if kind == "causal" else 0 if mask is None else mask
    wanted = _by_hand(q, k, v, added)
    for one, other in zip(
        (found, *torch.autograd.grad((found**3).sum(), given)),
        (wanted, *torch.autograd.grad((wanted**3).sum(), given)),
        strict=True,
    ):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("kind", ["bool", "infinite"])
def test_a_query_that_may_look_nowhere_gives_zeros(kind: str) -> None:
    given = _inputs(7)
    found = _attend(*given, _mask(kind))
    assert not found[:, :, 0].any()
    grads = torch.autograd.grad((found**3).sum(), given)
    assert all(torch.isfinite(g).all() for g in grads)
    assert not grads[0][:, :, 0].any()


@pytest.mark.parametrize("kind", ["three dimensions", "a mask that learns", "dropout", "gradients"])
def test_nor_where_other_operators_compute_it(kind: str) -> None:
    given, mask = _inputs(7), _mask("infinite").requires_grad_(kind == "a mask that learns")
    given = [x[0] for x in given] if kind == "three dimensions" else given
    found = _attend(*given, mask, 0.5 if kind == "dropout" else 0.0)
    assert not found[..., 0, :].any()
    grads = torch.autograd.grad((found**3).sum(), given, create_graph=True)
    grads = torch.autograd.grad(sum((g**2).sum() for g in grads), given)
    assert all(torch.isfinite(g).all() for g in grads)


@pytest.mark.parametrize("kind", ["float", "bool"])
def test_gradients_are_of_the_mask_that_was_given(kind: str) -> None:
    def gradient(change: bool) -> Any:
        given, mask = _inputs(7), _mask(kind)
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
        _attend(*_inputs(7), _mask("float")).sum().backward()
    names = [event.name for event in profiler.trace.dfs()]
    assert names.count(_FLASH) == names.count(f"{_FLASH}_backward") == 1
    assert "aten::softmax" not in names


@pytest.mark.parametrize("why", ["dropout", "a mask that learns", "three dimensions"])
def test_what_it_does_not_take_is_made_of_others(why: str) -> None:
    given, mask = _inputs(7), _mask("float").requires_grad_(why == "a mask that learns")
    given = [x[:, 0] for x in given] if why == "three dimensions" else given
    mask = mask[:, 0] if why == "three dimensions" else mask
    with profile() as profiler:
        _attend(*given, mask, 0.5 if why == "dropout" else 0.0).sum().backward()
    names = {event.name for event in profiler.trace.dfs()}
    assert "aten::_scaled_dot_product_attention_math" in names
    assert _FLASH not in names
