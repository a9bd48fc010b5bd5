"""On a device values and gradients are those of the CPU, bit for bit, and they are there."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import cuda

from ..runtime.samples import arrays, evaluate
from ..runtime.test_ops import SAMPLES


class _On:
    """`torch`, with what it makes on a device."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(rt, name)
        makes = name in "tensor zeros ones full eye arange".split()
        return partial(found, device=self._device) if makes else found


def _step(sample: Any, device: str) -> list[Any]:
    """The value and the gradients."""
    tensors = [rt.tensor(a).to(device).requires_grad_() for a in arrays(sample)]
    rt.manual_seed(0)
    out = evaluate(_On(device), sample, tensors)
    if out.requires_grad:
        (out.abs() if out.is_complex() else out).sum().backward()
    return [out, *[t.grad for t in tensors]]


ON_DEVICE = [s for s in SAMPLES if ".cpu()" not in s.code and "type_as" not in s.code]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", ON_DEVICE, ids=lambda sample: sample.code[:40])
def test_each_operator(sample: Any) -> None:
    if cuda.is_available():
        cuda.configure(None)
    alone = _step(sample, "cpu")
    cuda.configure("a100")
    there = _step(sample, "cuda")
    for a, b in zip(alone, there, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert b.device == rt.device("cuda", 0)
            assert b.is_cuda
            assert not b.is_cpu
            np.testing.assert_array_equal(a.numpy(force=True), b.numpy(force=True))
            assert (a.dtype, a.stride()) == (b.dtype, b.stride())
