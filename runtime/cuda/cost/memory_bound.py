"""What kernels take that memory is the limit of, and what every plan of them needs.

    ns = floors * floor + bytes / (bandwidth * efficiency * min(1, busy))

The floor is what the shortest kernel takes; it makes small work slow per byte, as it is. A kernel
that must wait for one thing before it can ask for the next (an index, a mean) has several of them.
`busy` is what part of the SMs that can exhaust the memory have a block. Of all bytes, as many as
half of the second-level cache holds come from it, or stay there: what ran before has left them.
"""

from __future__ import annotations

from ..specs.device_spec import DeviceSpec
from .kernel_plan import Dims, KernelPlan

# What streaming kernels reach of the peak.
MEMORY_EFFICIENCY = 0.88
# Some fraction of the SMs can use all of the bandwidth.
_SMS_THAT_SUFFICE = 0.4
# How much faster the second-level cache is, and what part of it holds what is wanted next.
_L2_SPEED = 2.0
_L2_SHARE = 0.5
TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def stream_ns(
    nbytes: float, spec: DeviceSpec, efficiency: float = MEMORY_EFFICIENCY, cached: bool = True
) -> float:
    """To read and write so many bytes, without what a kernel takes anyway."""
    near = min(nbytes, spec.l2_nbytes * _L2_SHARE) if cached else 0.0
    return (nbytes - near + near / _L2_SPEED) / (spec.memory_bytes_per_s * efficiency) * 1e9


def memory_ns(
    nbytes: float,
    spec: DeviceSpec,
    efficiency: float = MEMORY_EFFICIENCY,
    blocks: int = 1 << 30,
    cached: bool = True,
) -> int:
    """A kernel that reads and writes so many bytes, with so many blocks."""
    busy = min(1.0, blocks / (spec.sm_count * _SMS_THAT_SUFFICE))
    return spec.kernel_floor_ns + int(stream_ns(nbytes, spec, efficiency * max(busy, 1e-3), cached))


def memory_plan(
    name: str,
    nbytes: int,
    spec: DeviceSpec,
    grid: int,
    *,
    threads: int = 128,
    efficiency: float = MEMORY_EFFICIENCY,
    flops: int = 0,
    passes: float = 1.0,
    floors: float = 1.0,
    registers: int = 32,
    shared_nbytes: int = 0,
    narrow: bool = False,
    cached: bool = True,
) -> KernelPlan:
    """A kernel that reads and writes `nbytes` in `passes` of its own.

    `narrow` says that its blocks work long, so that few of them leave SMs idle; `cached` that it
    is fast enough to gain by the second-level cache.
    """
    grid = max(grid, 1)
    ns = memory_ns(nbytes * passes, spec, efficiency, grid if narrow else 1 << 30, cached)
    if flops:
        ns = max(ns, spec.kernel_floor_ns + int(flops / (spec.float32_flops_per_s * 0.5) * 1e9))
    ns += int((floors - 1) * spec.kernel_floor_ns)
    block: Dims = (threads, 1, 1)
    return KernelPlan(name, ns, flops, nbytes, (grid, 1, 1), block, registers, shared_nbytes)
