"""What kernels, copies and fills take that memory is the limit of, and how such are planned.

    ns = floors * floor + bytes / (bandwidth * efficiency * min(1, busy))

The floor is what the shortest kernel takes; it makes small work slow per byte, as it is. A kernel
that must wait for one thing before it can ask for the next (an index, a mean) has several of them.
`busy` is what part of the SMs that can exhaust the memory have a block. Of all bytes, as many as
half of the second-level cache holds come from it, or stay there: what ran before has left them.
A copy between memories takes a latency, and its bytes over a bandwidth.
"""

from __future__ import annotations

from typing import NamedTuple

from ..specs import DeviceSpec
from .kernel_plan import KernelPlan

# What streaming kernels reach of the peak.
MEMORY_EFFICIENCY = 0.88
# Some fraction of the SMs can use all of the bandwidth.
_SMS_THAT_SUFFICE = 0.4
# How much faster the second-level cache is, and what part of it holds what is wanted next.
_L2_SPEED = 2.0
_L2_SHARE = 0.5
_MANY_BLOCKS = 1 << 30
# Of copies: from where to where, and how the host holds its side.
KINDS = ("HtoD pageable", "HtoD pinned", "DtoH pageable", "DtoH pinned", "DtoD", "PtoP")
_HOST_LATENCY_NS = 1500
_PEER_LATENCY_NS = 2500
_BUS_EFFICIENCY = 0.8  # of a link between devices
_MEMSET_NS = 800


class Pace(NamedTuple):
    """How a kernel goes over its bytes.

    `efficiency` is what part of a plain stream's bandwidth it reaches, `passes` how often it goes
    over them, `floors` how often it waits, `flops` what it computes meanwhile. `narrow` says that
    its blocks work long, so that few of them leave SMs idle; `cached` that it is fast enough to
    gain by the second-level cache.
    """

    efficiency: float = 1.0
    passes: float = 1.0
    floors: float = 1.0
    flops: int = 0
    narrow: bool = False
    cached: bool = True


_USUAL = Pace()


def stream_ns(
    nbytes: float, spec: DeviceSpec, efficiency: float = MEMORY_EFFICIENCY, cached: bool = True
) -> float:
    """To read and write so many bytes, without what a kernel takes anyway."""
    near = min(nbytes, spec.l2_nbytes * _L2_SHARE) if cached else 0.0
    return (nbytes - near + near / _L2_SPEED) / (spec.memory_bytes_per_s * efficiency) * 1e9


def memory_ns(nbytes: float, spec: DeviceSpec, blocks: int, pace: Pace = _USUAL) -> int:
    """Return how long a kernel of so many blocks takes to read and write so many bytes."""
    busy = min(1.0, blocks / (spec.sm_count * _SMS_THAT_SUFFICE))
    efficiency = MEMORY_EFFICIENCY * pace.efficiency * max(busy, 1e-3)
    return spec.kernel_floor_ns + int(stream_ns(nbytes, spec, efficiency, pace.cached))


def memory_plan(
    name: str,
    nbytes: int,
    spec: DeviceSpec,
    grid: int,
    pace: Pace = _USUAL,
    threads: int = 128,
    shared_nbytes: int = 0,
) -> KernelPlan:
    """Plan a kernel that reads and writes `nbytes`."""
    grid, flops = max(grid, 1), pace.flops
    ns = memory_ns(nbytes * pace.passes, spec, grid if pace.narrow else _MANY_BLOCKS, pace)
    if flops:
        ns = max(ns, spec.kernel_floor_ns + int(flops / (spec.float32_flops_per_s * 0.5) * 1e9))
    ns += int((pace.floors - 1) * spec.kernel_floor_ns)
    return KernelPlan(name, ns, flops, nbytes, (grid, 1, 1), (threads, 1, 1), 32, shared_nbytes)


def copy_ns(nbytes: int, kind: str, spec: DeviceSpec) -> int:
    """Return how long a copy (of KINDS) takes on its stream; a pageable one holds up the host."""
    if kind == "DtoD":  # what is read is written as well
        rate = spec.memory_bytes_per_s * MEMORY_EFFICIENCY
        return spec.kernel_floor_ns + int(2 * nbytes / rate * 1e9)
    if kind == "PtoP":
        return _PEER_LATENCY_NS + int(nbytes / (spec.peer_bytes_per_s * _BUS_EFFICIENCY) * 1e9)
    if kind not in KINDS:
        raise ValueError(f"a copy is one of {', '.join(KINDS)}, not {kind!r}")
    pinned = kind.endswith("pinned")
    rate = spec.pinned_bytes_per_s if pinned else spec.pageable_bytes_per_s
    return _HOST_LATENCY_NS + int(nbytes / rate * 1e9)


def memset_ns(nbytes: int, spec: DeviceSpec) -> int:
    """Return how long a `cudaMemsetAsync` takes."""
    return _MEMSET_NS + int(nbytes / (spec.memory_bytes_per_s * MEMORY_EFFICIENCY) * 1e9)
