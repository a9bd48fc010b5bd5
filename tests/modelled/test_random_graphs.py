"""Programs over many streams compute what they compute on one, and wait for what they have to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tidy.runtime import cuda
from tidy.runtime.modelled.modelled_accelerator import accelerator

from ..environment import SOAK
from .hazards import hazards
from .random_graphs import OnOne, OnStreams, Step, forward, programs
from .recording import assert_same, recording

SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def _values(steps: list[Step], where: Any, size: int, times: int = 1) -> list[Any]:
    """The total and the leaves' gradients, after as many backwards."""
    for _ in range(times):
        total, leaves = forward(steps, where, size)
        total.backward()
    return [x if x is None else x.numpy(force=True) for x in (total.detach(), *_grads(leaves))]


def _grads(leaves: list[Any]) -> list[Any]:
    return [leaf.grad for leaf in leaves]


def _check(steps: list[Step], devices: int, size: int) -> None:
    on_cpu = _values(steps, OnOne("cpu"), size)
    try:
        cuda.configure("t4", devices)
        assert_same(_values(steps, OnOne("cuda"), size), on_cpu)
        with recording() as log:
            found = _values(steps, OnStreams(devices), size)
        assert hazards(log.work) == []
        assert_same(found, on_cpu)
    finally:
        cuda.configure(None)


@pytest.mark.parametrize("devices", [1, 3])
@settings(max_examples=8, deadline=None, suppress_health_check=SHARED)
@given(steps=programs())
def test_programs(devices: int, steps: list[Step]) -> None:
    _check(steps, devices, 128)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2, 3])
@settings(max_examples=200 if SOAK else 15, deadline=None, suppress_health_check=SHARED)
@given(steps=programs())
def test_many_programs(devices: int, steps: list[Step]) -> None:
    _check(steps, devices, 192)


@pytest.mark.parametrize("devices", [1, 3])
def test_without_the_engines_waits(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the same programs have hazards; forward's waits are the program's own."""
    monkeypatch.setattr(accelerator, "drops_waits", True)
    found = 0

    @seed(0)
    @settings(max_examples=8, deadline=None, suppress_health_check=SHARED, database=None)
    @given(programs())
    def program(steps: list[Step]) -> None:
        nonlocal found
        if found:
            return  # one is enough, and each takes a second
        cuda.configure("t4", devices)
        try:
            with recording() as log:
                _values(steps, OnStreams(devices), 384, times=2)
            found += len(hazards(log.work))
        finally:
            cuda.configure(None)

    program()
    assert found
