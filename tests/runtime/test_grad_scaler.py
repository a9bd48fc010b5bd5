"""GradScaler does what PyTorch's does, step by step."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt


def _train(torch: Any, scaler: Any, overflows: set[int]) -> list[tuple[float, list[float]]]:
    """(factor, weights) after each of some steps, in some of which a gradient overflows."""
    weight = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    seen = []
    for number in range(8):
        optimizer.zero_grad()
        loss = (weight * weight).sum() * (float("inf") if number in overflows else 1.0)
        scaler.scale(loss).backward()
        if number == 5:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), weight.tolist()))
    return seen


_OPTIONS = {"init_scale": 1024.0, "growth_interval": 3}


@pytest.mark.oracle
def test_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    ours = _train(rt, rt.amp.GradScaler("cpu", **_OPTIONS), {2, 3})
    theirs = _train(torch, torch.amp.GradScaler("cpu", **_OPTIONS), {2, 3})
    assert [scale for scale, _ in ours] == [scale for scale, _ in theirs]
    np.testing.assert_allclose([w for _, w in ours], [w for _, w in theirs], rtol=1e-6)


def test_an_overflow_leaves_the_step_out_and_halves_the_factor() -> None:
    seen = _train(rt, rt.amp.GradScaler("cpu", **_OPTIONS), {1})
    assert seen[1][1] == seen[0][1]
    assert (seen[0][0], seen[1][0]) == (1024.0, 512.0)
    assert seen[4][0] == 1024.0  # three good steps later


def test_a_state_comes_back() -> None:
    first, second = rt.amp.GradScaler("cpu", **_OPTIONS), rt.amp.GradScaler("cpu")
    _train(rt, first, set())
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == first.state_dict()


def test_it_says_what_is_wrong() -> None:
    scaler = rt.amp.GradScaler("cpu")
    weight = rt.ones(2, requires_grad=True)
    optimizer = rt.optim.SGD([weight], lr=0.1)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)


def test_without_a_device_it_is_off() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = rt.cuda.amp.GradScaler()
    loss = rt.ones((), requires_grad=True)
    assert scaler.scale(loss) is loss
    assert (scaler.is_enabled(), scaler.get_scale(), scaler.state_dict()) == (False, 1.0, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rt.amp.GradScaler("cuda", enabled=False)


def test_on_a_device() -> None:
    rt.cuda.configure("a100")
    try:
        weight = rt.ones(3, device="cuda", requires_grad=True)
        optimizer = rt.optim.SGD([weight], lr=0.5)
        scaler = rt.cuda.amp.GradScaler()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [0.5] * 3
        del weight, optimizer, scaler
    finally:
        rt.cuda.configure(None)
