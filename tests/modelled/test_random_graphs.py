"""Random programs over several devices and streams, which can as well be run on one.

A program is a list of steps. A step makes a value of one or two earlier ones, on a stream of a
device, after the waits that this needs; what is on another device is copied. At the end everything
that nobody used is summed up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.modelled.modelled_accelerator import accelerator

from ..environment import SOAK
from ..runtime.answers import identical
from .hazards import hazards
from .recording import recording

UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": lambda x: x.sin(), "relu": lambda x: x.relu(), "scale": lambda x: x * 0.75,
    "transpose": lambda x: x.t(), "softmax": lambda x: x.softmax(1),
    "chunks": lambda x: torch.cat(tuple(reversed(x.chunk(2)))),
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "sub": lambda x, y: x - y,
    "matmul": lambda x, y: (x @ y).tanh(),
}  # fmt: skip
LEAVES = 3


class Step(NamedTuple):
    """`first` and `second` choose among the values there are; `stream` 0 is the default one."""

    operator: str
    first: int
    second: int
    device: int
    stream: int


def programs(most: int = 15) -> st.SearchStrategy[list[Step]]:
    """3 to `most` steps, on devices 0 to 2 and streams 0 to 2 of each."""
    names = st.sampled_from([*UNARY, *BINARY, *["matmul"] * 4])
    number, few = st.integers(0, 99), st.integers(0, 2)
    step = st.builds(Step, names, number, number, few, few)
    return st.lists(step, min_size=3, max_size=most)


class Placed(NamedTuple):
    value: Any
    device: int
    stream: int


class OnStreams:
    """Runs steps where they say."""

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self._streams = {
            (d, n): cuda.Stream(d) if n else cuda.default_stream(d)
            for d in range(devices)
            for n in range(3)
        }

    def leaf(self, array: Any, number: int) -> Placed:
        index = number % self.devices
        return Placed(torch.tensor(array, device=f"cuda:{index}"), index, 0)

    def run(self, function: Any, operands: list[Placed], device: int, number: int) -> Placed:
        """`function` of the operands, on that stream."""
        device %= self.devices
        stream, given = self._streams[device, number], []
        with cuda.stream(stream):
            for each in operands:
                makes, value = self._streams[each.device, each.stream], each.value
                if each.device == device:
                    stream.wait_stream(makes)
                else:
                    cuda.default_stream(each.device).wait_stream(makes)
                    value = value.to(f"cuda:{device}")
                given.append(value)
            return Placed(function(*given), device, number)

    def join(self) -> None:
        """Default streams wait for all others."""
        for (device, number), stream in self._streams.items():
            if number:
                cuda.default_stream(device).wait_stream(stream)


class OnOne:
    """Runs all steps on one device, on its default stream."""

    def __init__(self, device: str) -> None:
        self.device = device

    def leaf(self, array: Any, number: int) -> Placed:
        return Placed(torch.tensor(array, device=self.device), 0, 0)

    def run(self, function: Any, operands: list[Placed], device: int, number: int) -> Placed:
        return Placed(function(*(each.value for each in operands)), 0, 0)

    def join(self) -> None:
        """There is nothing to wait for."""


def forward(steps: list[Step], where: OnStreams | OnOne, size: int) -> tuple[Any, list[Any]]:
    """The sum of all that came out, and the leaves."""
    draw = np.random.default_rng(0)
    values = [where.leaf(draw.standard_normal((size, size)), n) for n in range(LEAVES)]
    leaves = [each.value.requires_grad_() for each in values]
    used = set[int]()
    for step in steps:
        chosen = [step.first % len(values)]
        if step.operator in BINARY:  # of two different ones, so that sums have one order only
            chosen.append((chosen[0] + 1 + step.second % (len(values) - 1)) % len(values))
        function: Any = BINARY.get(step.operator) or UNARY[step.operator]
        used.update(chosen)
        values.append(where.run(function, [values[n] for n in chosen], step.device, step.stream))
    ends = [each for n, each in enumerate(values) if n not in used]
    sums = [
        where.run(lambda x: x.square().sum(), [each], each.device, each.stream) for each in ends
    ]
    total = sums[0]
    for each in sums[1:]:
        total = where.run(lambda x, y: x + y, [total, each], 0, 0)
    where.join()
    return total.value, leaves


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
        identical(_values(steps, OnOne("cuda"), size), on_cpu)
        with recording() as log:
            found = _values(steps, OnStreams(devices), size)
        assert hazards(log.work) == []
        identical(found, on_cpu)
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
