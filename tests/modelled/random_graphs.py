"""Random programs over several devices and streams, which can as well be run on one.

A program is a list of steps. A step makes a value of one or two earlier ones, on a stream of a
device, after the waits that this needs; what is on another device is copied. At the end everything
that nobody used is summed up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import tidy.runtime as torch
from tidy.runtime import cuda

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
