"""TDY901: collectives that no computation hides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Capability, Event, EventKind, Intervals, Trace

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device
from ..timing import covered_ns, severity_by_share

# ncclKernel_..., ncclDevKernel_..., ncclSymkDevKernel_..., rccl_main_kernel; MSCCL is in RCCL.
_COLLECTIVE = re.compile(r"(void )?(nccl\w*Kernel|rccl|msccl)", re.IGNORECASE)
# Shares of the step. A tenth is where Kineto's TensorBoard plug-in warns.
_WORTH_SAYING = 0.05
_WORTH_A_WARNING = 0.10


@dataclass(frozen=True, slots=True)
class _Communication:
    """What one device spent on collectives inside the steps."""

    rows: list[int]
    time: Intervals
    exposed: Intervals


class ExposedCommunication(Pattern):
    """Collectives run on the GPU while it computes nothing, for much of the step.

        => ncclKernel_..., ncclDevKernel_..., rccl_...    on one stream
        NOT any other kernel                              on any stream of the same device

    A collective ends when its last rank has come, so the time in it includes waiting for ranks that
    are late: one trace cannot tell a slow network from a slow rank.

    Cost: the time of the collectives; what could be hidden is the part in which nothing else runs.
    Instead: overlap with the backward pass (DistributedDataParallel does; `static_graph=True`,
    `bucket_cap_mb`), `no_sync()` while accumulating gradients, bfloat16 gradients, larger batches;
    and a look at the ranks that come last.
    Misses: Gloo and MPI, which run on the host; copies between GPUs. Info from 5 % of the step,
    a warning from 10 %; with several devices in one process, of the one that waits most.
    """

    code = "TDY901"
    needs = frozenset({Capability.DEVICE})
    fix = "overlap it with the backward pass, send less (no_sync, bf16), balance the ranks"
    examples = (
        Fires(
            "all-reduce",
            """
            # device 0 NVIDIA A100 8.0
            train.py(9): train
              ProfilerStep#1 200us
                aten::mm
                  cudaLaunchKernel
                    => gemm 40us
                nccl:all_reduce 90us
                  cudaLaunchKernel
                    => ncclDevKernel_AllReduce_Sum_f32_RING_LL 80us
            """,
            at="train.py:9",
        ),
        Fires(
            "small-share",
            """
            # device 0 NVIDIA A100 8.0
            train.py(9): train
              ProfilerStep#1 400us
                c10d::allreduce_ 90us
                  cudaLaunchKernel
                    => ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*) 30us
            """,
            at="train.py:9",
            severity=Severity.INFO,
        ),
        Quiet(
            "overlapped",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 200us
              aten::mm 2us
                cudaLaunchKernel
                  => ncclDevKernel_AllReduce_Sum_f32_RING_LL 80us
                  => gemm 80us
            """,
        ),
        Quiet(
            "before-the-steps",
            """
            # device 0 NVIDIA A100 8.0
            nccl:broadcast 100us
              cudaLaunchKernel 1us
                => ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>) 90us
            ProfilerStep#1 200us
              aten::mm
                cudaLaunchKernel
                  => gemm 40us
            """,
        ),
        Abstains(
            "one-gpu",
            """
            # device 0 NVIDIA A100 8.0
            aten::mm
              cudaLaunchKernel
                => gemm 40us
            """,
        ),
        Abstains("cpu-run", "gloo:all_reduce 40us"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is None and not any(map(_COLLECTIVE.match, trace.names)):
            return NotApplicable("no NCCL or RCCL kernel ran")
        return obstacle

    def check(self, trace: Trace) -> Iterable[Finding]:
        devices = _communications(trace)
        if not devices:
            return
        worst = max(devices, key=lambda each: each.exposed.total_ns)
        share = worst.exposed.total_ns / trace.step_time.total_ns
        if share < _WORTH_SAYING:
            return
        hidden = 1 - worst.exposed.total_ns / worst.time.total_ns
        unit = "the steps" if trace.steps else "the run"
        events = list(trace.events(worst.rows))
        longest: Event = max(events, key=lambda event: event.duration_ns)
        yield self.report(
            trace,
            events,
            message=(
                f"the GPU only communicates in {share:.0%} of {unit}; "
                f"{hidden:.0%} of the communication is hidden"
            ),
            severity=severity_by_share(share, _WORTH_A_WARNING),
            location=longest.location,
            saving=Saving(0, worst.exposed.total_ns, "communication that no kernel hides"),
        )


def _communications(trace: Trace) -> list[_Communication]:
    """For each device that ran collectives inside the steps what they took."""
    kernels = trace.rows_of_kind(EventKind.Kernel)
    named = [i for i, name in enumerate(trace.names) if _COLLECTIVE.match(name)]
    is_collective = np.isin(trace.name_id[kernels], named)
    found: list[_Communication] = []
    for device in trace.devices_used:
        here = trace.device[kernels] == device
        rows = kernels[here & is_collective]
        time = trace.time_of(rows) & trace.step_time
        exposed = time - trace.time_of(kernels[here & ~is_collective])
        inside = covered_ns(trace.step_time, trace.start_ns[rows], trace.end_ns[rows]) > 0
        if inside.any():
            found.append(_Communication(rows[inside].tolist(), time, exposed))
    return found
