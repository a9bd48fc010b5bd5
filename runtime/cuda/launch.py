"""Kernels and fills, launched on a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import activity
from .cost import KernelPlan, memset_ns
from .modelled_device import correlations, kernel_args, log_call, log_work

if TYPE_CHECKING:
    from ..storage import Storage
    from .streams import Stream


def launch_kernel(
    each: KernelPlan,
    ins: Iterable[Storage | None],
    written: Iterable[Storage | None],
    stream: Stream,
    host_ns: int,
    call: str = "cudaLaunchKernel",
) -> int:
    """One kernel, launched at `host_ns`; when the host goes on."""
    device = stream.owner
    after = device.launched(host_ns)
    blocks = each.grid[0] * each.grid[1] * each.grid[2]
    engine = device.compute if blocks >= device.spec.sm_count else None
    span = device.run(stream, after, each.duration_ns, engine)
    if activity.logs:
        correlation = next(correlations)
        log_call(call, host_ns, after, correlation)
        reads = tuple([s.number for s in ins if s is not None])
        writes = tuple([s.number for s in written if s is not None])
        args = kernel_args(each, device.spec)
        log_work("kernel", each.name, span, stream, correlation, 0, args, reads, writes)
    return after


def launch_memset(
    nbytes: int, written: Iterable[Storage | None], stream: Stream, host_ns: int
) -> int:
    """Zeros, which need no kernel; when the host goes on."""
    device = stream.owner
    after = device.launched(host_ns)
    span = device.run(stream, after, memset_ns(nbytes, device.spec))
    if activity.logs:
        correlation = next(correlations)
        log_call("cudaMemsetAsync", host_ns, after, correlation)
        writes = tuple([s.number for s in written if s is not None])
        log_work("gpu_memset", "Memset (Device)", span, stream, correlation, nbytes, writes=writes)
    return after
