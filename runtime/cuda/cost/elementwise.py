"""What elementwise operators take, reductions, and lists of tensors at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..specs.device_spec import DeviceSpec
from .kernel_names import elementwise_name, functor, reduce_name, unrolled_copy_name
from .kernel_plan import KernelPlan, Operand, itemsize, nbytes_of, numel
from .memory_bound import MEMORY_EFFICIENCY, memory_plan

# A kernel that computes an offset for each element reaches this part of a plain stream: of
# elements of two bytes or less, of larger ones.
_STRIDED = (0.5, 0.72)
# One that reads a dtype and writes another.
_CAST = 0.7
# What a launch of multi_tensor_apply takes: tensors, and blocks of so many elements.
_TENSORS_A_LAUNCH = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
_BLOCKS_A_LAUNCH = 320
_CHUNK = 65536


def elementwise_plan(
    base: str, inputs: Sequence[Operand], outputs: Sequence[Operand], spec: DeviceSpec
) -> KernelPlan:
    """Every input read once and every output written once."""
    out = outputs[0] if outputs else inputs[0]
    size = numel(out)
    simple = all(
        x.contiguous and (x.shape == out.shape or not x.shape) and x.dtype == out.dtype
        for x in (*inputs, *outputs)
    ) or (len(inputs) == 1 and inputs[0].contiguous and numel(inputs[0]) == size)
    nbytes = sum(map(nbytes_of, inputs)) + sum(map(nbytes_of, outputs))
    dtype = inputs[0].dtype if inputs else out.dtype
    read = sum(1 for x in inputs if x.shape)
    name = elementwise_name(base, dtype, len(inputs) + len(outputs), simple, read)
    efficiency = MEMORY_EFFICIENCY * (1 if simple else _strided(out))
    grid = -(-size // 512)
    return memory_plan(name, nbytes, spec, grid, efficiency=efficiency, cached=simple)


def _strided(operand: Operand) -> float:
    return _STRIDED[itemsize(operand.dtype) > 2]


def fill_plan(base: str, outputs: Sequence[Operand], spec: DeviceSpec) -> KernelPlan:
    """Every output written once."""
    out = outputs[0]
    name = elementwise_name(base, out.dtype, 1, True, 0)
    return memory_plan(name, nbytes_of(out), spec, -(-numel(out) // 512))


def copy_plan(
    inputs: Sequence[Operand], outputs: Sequence[Operand], spec: DeviceSpec
) -> KernelPlan:
    """The last input is the source: `copy_` is given its destination first."""
    source, out = inputs[-1], outputs[0]
    ordered = source.contiguous and out.contiguous and numel(source) == numel(out)
    nbytes = nbytes_of(source) + nbytes_of(out)
    efficiency = MEMORY_EFFICIENCY * (1 if ordered else _strided(out))
    narrowed = source.dtype == "float32" and out.dtype in ("float16", "bfloat16")
    if ordered and source.dtype != out.dtype and not narrowed:
        name, efficiency = unrolled_copy_name(), MEMORY_EFFICIENCY * _CAST
    else:
        base = f"{out.dtype}_copy" if narrowed else "copy"
        name = elementwise_name(base, out.dtype, 2, ordered, 1)
    grid, cached = -(-numel(out) // 512), efficiency == MEMORY_EFFICIENCY
    return memory_plan(name, nbytes, spec, grid, efficiency=efficiency, cached=cached)


def reduce_plans(
    base: str, inputs: Sequence[Operand], outputs: Sequence[Operand], spec: DeviceSpec
) -> tuple[KernelPlan, ...]:
    """The input read once; where there are few results, several blocks work on each."""
    x, out = inputs[0], outputs[0]
    nbytes = nbytes_of(x) + sum(map(nbytes_of, outputs))
    kept = [n for n in out.shape if n != 1]
    inner = not kept or out.shape[: len(kept)] == x.shape[: len(kept)]
    grid = max(1, min(numel(x) // 4096, 8 * spec.sm_count), -(-numel(out) // 128))
    plan = memory_plan(
        reduce_name(base, x.dtype, inner),
        nbytes,
        spec,
        grid,
        threads=512 if inner else 128,
        efficiency=MEMORY_EFFICIENCY * 0.85,
        flops=numel(x),
        floors=1.6,
        shared_nbytes=16 if inner else 2048,
    )
    return (plan,)


def foreach_plans(
    base: str,
    in_place: bool,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    spec: DeviceSpec,
) -> tuple[KernelPlan, ...]:
    """One kernel for as many tensors as its arguments hold; the lists stand one after another."""
    tensors = [x for x in (outputs or inputs) if x.shape] or list(outputs or inputs)
    nbytes = sum(map(nbytes_of, inputs)) + sum(map(nbytes_of, outputs))
    if base == "norm":
        tensors = [x for x in inputs if x.shape] or list(inputs)
    lists = min(5, max(1, len(inputs) // len(tensors)) + (not in_place and base != "norm"))
    dtype = tensors[0].dtype
    name = (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
        f"(anonymous namespace)::TensorListMetadata<{lists}>, at::native::(anonymous namespace)::"
        f"{_foreach_functor(base)}, {functor(base, dtype, 2)}>"
    )
    return multi_tensor_plans(name, tensors, lists, nbytes, spec)


def multi_tensor_plans(
    name: str, tensors: Sequence[Operand], lists: int, nbytes: int, spec: DeviceSpec
) -> tuple[KernelPlan, ...]:
    """`nbytes` moved for `tensors`, which stand for that many lists of such ones."""
    chunks = sum(-(-math.prod(x.shape) // _CHUNK) for x in tensors)
    launches = max(-(-len(tensors) // _TENSORS_A_LAUNCH[lists]), -(-chunks // _BLOCKS_A_LAUNCH), 1)
    part, blocks = nbytes // launches, -(-chunks // launches)
    plan = memory_plan(name, part, spec, blocks, threads=512, narrow=True)
    return (plan,) * launches


def _foreach_functor(base: str) -> str:
    if base in ("addcmul", "addcdiv"):
        return "PointwiseOpScalarFunctor<float, 3, 3, 0>"
    if base in ("sqrt", "reciprocal", "neg"):
        return "UnaryOpFunctor<float, 1, 1, 0>"
    return "LpNormFunctor<float, 2>" if base == "norm" else "BinaryOpScalarFunctor<float, 1, 1, 0>"
