"""GradScaler beside its steps, which test_golden.py compares with PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import tidy.runtime as rt


def test_a_state_comes_back() -> None:
    first, second = rt.amp.GradScaler("cpu", 1024.0, growth_interval=2), rt.amp.GradScaler("cpu")
    weight = rt.ones(2, requires_grad=True)
    optimizer = rt.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        first.scale(weight.sum()).backward()
        first.step(optimizer)
        first.update()
    assert first.get_scale() == 2048.0
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
