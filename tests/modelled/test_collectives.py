"""Collectives: their results, their times, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import cuda
from tidy.runtime.modelled import collectives

from .networks import (
    assert_same,
    logged,
    values,
    whole,
)
from .parallel_logs import compute, nccl


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
def test_all_reduce(dtype: str) -> None:
    cuda.configure("a100", 3)
    parts = [whole(4, 5, seed=n, dtype=dtype) for n in range(3)]
    tensors = [x.to(f"cuda:{n}") for n, x in enumerate(parts)]
    versions = [x._version for x in tensors]
    cuda.nccl.all_reduce(tensors)
    assert_same(values(tensors), [sum(x.numpy() for x in parts)] * 3)
    assert all(x._version > before for x, before in zip(tensors, versions, strict=True))


def test_averages_are_equal_bit_for_bit() -> None:
    cuda.configure("a100", 3)
    rt.manual_seed(0)
    parts = [rt.randn(1000) for _ in range(3)]
    tensors = [x.to(f"cuda:{n}") for n, x in enumerate(parts)]
    collectives.all_reduce(tensors, op="avg")
    first, *others = values(tensors)
    assert_same(others, [first] * 2)
    mean = np.mean([x.numpy().astype("float64") for x in parts], 0)
    np.testing.assert_allclose(first, mean, rtol=1e-4, atol=1e-6)


def test_a_late_device_holds_up_the_others() -> None:
    cuda.configure("t4", 2)
    tensors = [rt.zeros(64).to(f"cuda:{n}") for n in range(2)]
    a = rt.ones(512, 512, dtype=rt.float64).to("cuda:1")
    with logged() as log:
        b = a @ a
        collectives.all_reduce(tensors)
    late = compute(log, 1)[-1]
    assert b.get_device() == 1
    (early,), (last,) = (nccl(log, device=device) for device in (0, 1))
    assert early.start_ns < late.end_ns <= last.start_ns
    assert early.end_ns == last.end_ns


def test_more_bytes_and_devices_take_longer() -> None:
    cuda.configure("a100", 4)

    def took(count: int, size: int) -> int:
        tensors = [rt.zeros(size).to(f"cuda:{n}") for n in range(count)]
        with logged() as log:
            collectives.all_reduce(tensors)
        (work,) = nccl(log)
        return work.end_ns - work.start_ns

    assert took(2, 1000) < took(2, 10_000_000)
    assert took(2, 1000) < took(4, 1000)


def test_tensors_that_do_not_go_together(two_devices: None) -> None:
    here, there = (rt.zeros(4).to(f"cuda:{n}") for n in range(2))
    for tensors, message in (
        ([here, rt.zeros(4)], "tensor 1 is on the CPU"),
        ([here, rt.zeros(4).cuda()], r"device of its own, but they are on \[0, 0\]"),
        ([here, there[:3]], "tensor 1 is float32 of 3 elements, the first one float32 of 4"),
        ([here, there.double()], "tensor 1 is float64"),
        ([], "a collective needs a tensor"),
    ):
        with pytest.raises(ValueError, match=message):
            collectives.all_reduce(tensors)
    with pytest.raises(ValueError, match="sum, avg, not 'max'"):
        collectives.all_reduce([here, there], op="max")
    with pytest.raises(ValueError, match="streams"):
        collectives.all_reduce([here, there], streams=[cuda.Stream(1), cuda.Stream(0)])
    assert collectives.is_available([here, there])
    assert not collectives.is_available([here, here])
