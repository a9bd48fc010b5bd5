"""What the tests of costs share: `plan` with fewer words."""

from __future__ import annotations

import pytest

from tidy.runtime.modelled.cost import KernelPlan, Operand, plan
from tidy.runtime.modelled.specs import SPECS, DeviceSpec

EVERY = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def cost(
    op: str, inputs: list[Operand], outputs: list[Operand], spec: DeviceSpec, tf32: bool = False
) -> tuple[KernelPlan, ...]:
    return plan(op, inputs, outputs, spec, matmul_tf32=tf32, cudnn_tf32=tf32)


def ns(plans: tuple[KernelPlan, ...]) -> int:
    return sum(each.duration_ns for each in plans)


def mm(
    m: int, n: int, k: int, dtype: str, spec: DeviceSpec, tf32: bool = False
) -> tuple[KernelPlan, ...]:
    given = [Operand((m, k), dtype), Operand((k, n), dtype)]
    return cost("aten::mm", given, [Operand((m, n), dtype)], spec, tf32)


def conv(
    dtype: str, spec: DeviceSpec, tf32: bool = False, channels: int = 64, kernel: int = 1
) -> tuple[KernelPlan, ...]:
    x = Operand((32, channels, 56, 56), dtype)
    weight = Operand((channels, channels, kernel, kernel), dtype)
    return cost("aten::convolution", [x, weight], [x], spec, tf32)
