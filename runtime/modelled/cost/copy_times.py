"""What copies and fills take: a latency, and bytes over a bandwidth."""

from __future__ import annotations

from ..specs.device_spec import DeviceSpec
from .memory_bound import MEMORY_EFFICIENCY

KINDS = ("HtoD pageable", "HtoD pinned", "DtoH pageable", "DtoH pinned", "DtoD", "PtoP")
_HOST_LATENCY_NS = 1500
_PEER_LATENCY_NS = 2500
_BUS_EFFICIENCY = 0.8  # of a link between devices
_MEMSET_NS = 800


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
