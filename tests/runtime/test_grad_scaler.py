"""GradScaler beside its steps, which test_golden.py compares with PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import tidy.runtime as rt


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
