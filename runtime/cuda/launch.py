"""Kernels and fills, launched on a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import activity
from .cost import KernelPlan, memset_ns
from .modelled_device import correlations, kernel_args, log_call, log_work

if TYPE_CHECKING:
    from ..storage import Storage
    from .specs import DeviceSpec
    from .streams import Stream

Storages = Sequence["Storage | None"]
_MEMSET = "Memset (Device)"


def memset_plan(nbytes: int, spec: DeviceSpec) -> KernelPlan:
    """A fill with zeros, which is no kernel but goes the same way."""
    return KernelPlan(_MEMSET, memset_ns(nbytes, spec), 0, nbytes, (1, 1, 1), (1, 1, 1), 0, 0)


def launch_kernel(
    plan: KernelPlan, ins: Storages, written: Storages, stream: Stream, host_ns: int
) -> int:
    """One kernel, launched at `host_ns`; when the host goes on."""
    device = stream.owner
    after = device.launched(host_ns)
    blocks = plan.grid[0] * plan.grid[1] * plan.grid[2]
    span = device.run(stream, after, plan.duration_ns, blocks >= device.spec.sm_count)
    if activity.logs:
        correlation = next(correlations)
        call = "cudaMemsetAsync" if plan.name is _MEMSET else "cudaLaunchKernel"
        log_call(call, host_ns, after, correlation)
        reads = tuple([s.number for s in ins if s is not None])
        writes = tuple([s.number for s in written if s is not None])
        log_kernel(plan, span, stream, correlation, reads, writes)
    return after


def log_kernel(
    plan: KernelPlan,
    span: tuple[int, int],
    stream: Stream,
    correlation: int,
    reads: tuple[int, ...],
    writes: tuple[int, ...],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Tell all logs of a kernel or a fill; `more` are further args of it."""
    if plan.name is _MEMSET:
        log_work("gpu_memset", _MEMSET, span, stream, correlation, plan.nbytes, more, writes=writes)
        return
    args = {**kernel_args(plan, stream.owner.spec), **(more or {})}
    log_work("kernel", plan.name, span, stream, correlation, 0, args, reads, writes)
