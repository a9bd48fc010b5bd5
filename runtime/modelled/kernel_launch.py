"""Kernels and fills, launched on a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.storage import Storage
from . import activity
from .activity import correlations, log_call, log_work
from .cost import KernelPlan, memset_ns, occupancy
from .specs import DeviceSpec
from .streams import Stream

Storages = Sequence[Storage | None]
_MEMSET = "Memset (Device)"
_kernel_args: dict[tuple[KernelPlan, str], Mapping[str, Any]] = {}


def memset_plan(nbytes: int, spec: DeviceSpec) -> KernelPlan:
    """Plan a fill with zeros: no kernel, but launched as kernels are."""
    return KernelPlan(_MEMSET, memset_ns(nbytes, spec), 0, nbytes, (1, 1, 1), (1, 1, 1), 0, 0)


def launch_kernel(
    plan: KernelPlan, ins: Storages, written: Storages, stream: Stream, host_ns: int
) -> int:
    """Launch one kernel at `host_ns`; returns when the host goes on."""
    device = stream.owner
    after = device.launched(host_ns)
    blocks = plan.grid[0] * plan.grid[1] * plan.grid[2]
    span = device.run(stream, after, plan.duration_ns, blocks >= device.spec.sm_count)
    if device.blocks:
        after = max(after, span[1])
    if activity.logs:
        correlation = next(correlations)
        call = "cudaMemsetAsync" if plan.name is _MEMSET else "cudaLaunchKernel"
        log_call(call, host_ns, after, correlation)
        reads = tuple([s.number for s in ins if s is not None])
        writes = tuple([s.number for s in written if s is not None])
        _log_kernel(plan, span, stream, correlation, reads, writes)
    return after


def _log_kernel(
    plan: KernelPlan,
    span: tuple[int, int],
    stream: Stream,
    correlation: int,
    reads: tuple[int, ...],
    writes: tuple[int, ...],
) -> None:
    """Write a kernel or a fill to all logs; its `span` is (start, end)."""
    if plan.name is _MEMSET:
        log_work("gpu_memset", _MEMSET, span, stream, correlation, plan.nbytes, writes=writes)
        return
    spec = stream.owner.spec
    args = _kernel_args.get((plan, spec.key))
    if args is None:
        args = _kernel_args[plan, spec.key] = _shown(plan, spec)
    log_work("kernel", plan.name, span, stream, correlation, 0, args, reads, writes)


def _shown(plan: KernelPlan, spec: DeviceSpec) -> Mapping[str, Any]:
    """The args that a trace shows of every kernel."""
    blocks, threads = math.prod(plan.grid), math.prod(plan.block)
    return {
        "grid": list(plan.grid),
        "block": list(plan.block),
        "registers per thread": plan.registers,
        "shared memory": plan.shared_nbytes,
        "blocks per SM": round(blocks / spec.sm_count, 6),
        "warps per SM": round(blocks * -(-threads // spec.warp_size) / spec.sm_count, 6),
        "est. achieved occupancy %": round(100 * occupancy(plan, spec)[0]),
    }
