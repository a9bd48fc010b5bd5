"""Made runs of which every number is known: steps of ops, each as long as it is told, by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..cli.traces import Event, event, write

A100 = {
    "deviceProperties": [
        {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "totalGlobalMem": 1}
    ]
}


@dataclass(frozen=True)
class Op:
    """One op of each step: `calls` times, `us` long each, in a function that begins at `line`.

    After each call comes one of 1 us of the op `then`, if one is given.
    """

    name: str
    us: float
    calls: int = 1
    shapes: tuple[tuple[int, ...], ...] = ((64, 512), (512, 512))
    dtype: str = "float"
    line: int = 10
    function: str = "forward"
    kernel_us: float = 0.0
    then: str = ""


OPS = (
    Op("aten::mm", 300, calls=2),
    Op("aten::addmm", 250),
    Op("aten::tanh", 200, shapes=((64, 512),)),
    Op("aten::sum", 60, shapes=((64, 512),), line=30, function="loss"),
    Op("aten::mul", 80, shapes=((64, 512), (64, 512)), line=30, function="loss"),
    Op("aten::layer_norm", 120, shapes=((64, 512),)),
    Op("aten::_foreach_add_", 150, line=50, function="train"),
    Op("aten::embedding", 90, shapes=((1000, 512), (64,))),
)


def changed(which: str, **fields: Any) -> tuple[Op, ...]:
    """`OPS` with other values of one op."""
    return tuple(replace(op, **fields) if op.name == which else op for op in OPS)


def run(
    path: Path,
    ops: Sequence[Op] = OPS,
    *,
    seed: int = 0,
    steps: int = 20,
    noise: float = 0.02,
    speed: float = 1.0,
    **header: Any,
) -> Path:
    """Write the trace of one run.

    Args:
        path: the file.
        ops: those of each step, one after the other.
        seed: of chance.
        steps: how many.
        noise: by what part a call is longer or shorter, by chance.
        speed: what all times are divided by.
        header: further keys of the file.
    """
    chance = random.Random(seed)  # noqa: S311 - for made times
    now, correlation, events = 1000.0, 0, list[Event]()
    for number in range(steps):
        start = now
        for op in ops:
            now += 1  # frames do not touch
            before, inside = now, list[Event]()
            for _ in range(op.calls):
                lasts = op.us / speed * chance.lognormvariate(0, noise)
                types = [op.dtype] * len(op.shapes)
                shapes = [list(shape) for shape in op.shapes]
                inside.append(
                    event(
                        "cpu_op",
                        op.name,
                        now + 1,
                        lasts,
                        **{"Input Dims": shapes, "Input type": types},
                    )
                )
                if op.kernel_us:
                    correlation += 1
                    inside += _kernel(
                        op, now + 2, correlation, speed, chance.lognormvariate(0, noise)
                    )
                now += lasts + 3 / speed
                if op.then:
                    inside.append(event("cpu_op", op.then, now, 1))
                    now += 2
            events.append(
                event(
                    "python_function", f"train.py({op.line}): {op.function}", before, now - before
                )
            )
            events += inside
        now += 1
        events.append(event("user_annotation", f"ProfilerStep#{number}", start, now - start))
        now += 1
    keys = {"schemaVersion": 1, "record_shapes": 1, "with_stack": 1, **header}
    return write(path, events, **keys)


def _kernel(op: Op, at: float, correlation: int, speed: float, chance: float) -> list[Event]:
    """The launch of a kernel, and the kernel."""
    kernel = event(
        "kernel", f"{op.name}_kernel", at + 5, op.kernel_us / speed * chance,
        correlation=correlation, device=0, stream=7,
    )  # fmt: skip
    launch = event("cuda_runtime", "cudaLaunchKernel", at, 1, correlation=correlation)
    return [launch, {**kernel, "pid": 0, "tid": 7}]
