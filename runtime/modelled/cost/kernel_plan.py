"""What an operator is given, and what it makes the device do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..specs import DeviceSpec

Dims = tuple[int, int, int]


class DtypeNames(NamedTuple):
    """The size of a dtype, and what it is called in C++ and by Kineto."""

    nbytes: int
    c_type: str
    kineto: str


_DTYPES = {
    "bool": DtypeNames(1, "bool", "Bool"),
    "int8": DtypeNames(1, "signed char", "Char"),
    "uint8": DtypeNames(1, "unsigned char", "Byte"),
    "int16": DtypeNames(2, "short", "Short"),
    "int32": DtypeNames(4, "int", "Int"),
    "int64": DtypeNames(8, "long", "Long"),
    "float16": DtypeNames(2, "c10::Half", "Half"),
    "bfloat16": DtypeNames(2, "c10::BFloat16", "BFloat16"),
    "float32": DtypeNames(4, "float", "Float"),
    "float64": DtypeNames(8, "double", "Double"),
    "complex64": DtypeNames(8, "c10::complex<float>", "complex64"),
    "complex128": DtypeNames(16, "c10::complex<double>", "complex128"),
}


def names_of(dtype: str) -> DtypeNames:
    """Return the names of numpy's dtype; one without a row counts as float (float8 as a byte)."""
    known = _DTYPES.get(dtype)
    return known or DtypeNames(1 if dtype.startswith("float8") else 4, "float", dtype)


class Operand(NamedTuple):
    """A tensor: its shape, numpy's name of its dtype, and whether its elements lie in order."""

    shape: tuple[int, ...]
    dtype: str
    contiguous: bool = True

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * names_of(self.dtype).nbytes

    @property
    def c_type(self) -> str:
        return names_of(self.dtype).c_type


class KernelPlan(NamedTuple):
    """One kernel, as a trace shows it.

    `flops` and `nbytes` are what it has to do, whatever it reaches: bytes that it must read and
    write once, and two operations for each multiplication with addition.
    """

    name: str
    duration_ns: int
    flops: int
    nbytes: int
    grid: Dims
    block: Dims
    registers: int
    shared_nbytes: int


Plans = tuple[KernelPlan, ...]
Operands = Sequence[Operand]


def total_nbytes(operands: Operands) -> int:
    """Return the bytes of all operands together."""
    return sum(x.nbytes for x in operands)


class OperatorCall(NamedTuple):
    """A call of an operator, by its ATen name without namespace and final underscores.

    Where it is not known what an operator returns, `outputs` is empty.
    """

    base: str
    in_place: bool
    inputs: Operands
    outputs: Operands
    spec: DeviceSpec
    matmul_tf32: bool
    cudnn_tf32: bool

    @property
    def out(self) -> Operand:
        return (self.outputs or self.inputs)[0]

    @property
    def nbytes(self) -> int:
        return total_nbytes(self.inputs) + total_nbytes(self.outputs)


def occupancy(plan: KernelPlan, spec: DeviceSpec) -> tuple[float, float]:
    """Return estimated achieved occupancy (0 to 1) and blocks per SM, as Kineto does."""
    blocks_per_sm = math.prod(plan.grid) / spec.sm_count
    threads = math.prod(plan.block)
    held = min(spec.max_blocks_per_sm, spec.max_threads_per_sm // max(1, threads))
    held = min(held, spec.registers_per_sm // max(1, plan.registers * threads))
    if plan.shared_nbytes:
        held = min(held, spec.shared_nbytes_per_sm // plan.shared_nbytes)
    held = max(held, 1)
    warps = -(-threads // spec.warp_size)
    resident = min(blocks_per_sm, held) * warps
    return min(1.0, resident / (spec.max_threads_per_sm // spec.warp_size)), blocks_per_sm
