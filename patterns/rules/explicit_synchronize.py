"""TDY302: `torch.cuda.synchronize()` in every step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import compress

import numpy as np

from tidy.finding import Finding, NotApplicable, NotChecked, Severity
from tidy.trace import Capability, Event, EventKind, Intervals, Trace, remedy
from tidy.trace.location import is_user_file, parse_frame

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import any_busy, is_modelled, without_device
from ..places import Loop, place_of, within_range
from ..waits import (
    SYNCHRONIZE,
    Wait,
    calls_of,
    costing,
    idle_after,
    saving_of,
    severity_of,
)

# Where PyTorch keeps what users call to synchronise; other frames of torch call it on their own.
_FRONT_DOORS = re.compile(
    r"(^|/)(torch/(cuda|xpu|accelerator|_streambase|_compile|_dynamo)|tidy/runtime/cuda)\b"
)
_OF_TORCH = re.compile(r"(^|/)(torch|tidy/runtime)/")
_INTERNAL_RANGES = re.compile(
    r"(nccl|gloo|mpi|ucc|c10d)[:_]|FSDP::|FullyShardedDataParallel|DistributedDataParallel\."
)


class ExplicitSynchronize(Pattern):
    """The training loop waits for the GPU on purpose, in every step.

        torch/cuda/__init__.py(...): synchronize          with Python stacks
          cudaDeviceSynchronize

        ProfilerStep#1                                    without: in no op
          cudaDeviceSynchronize

    It takes two steps, or three rounds of work where the trace has no steps. What PyTorch calls by
    itself is not reported: the profiler at the end of a recording, data parallelism, ops.

    Cost: the GPU has run out of work, and idles until the host has launched more. Time to the next
    device work counts, up to the end of the step, and no more than the host waited. It is said as
    info where it is rarer than once a step, and where waiting or idling is below 1 % of the steps.
    Instead: remove it; PyTorch keeps the order by itself. To take times, use events
    (`torch.cuda.Event(enable_timing=True)`) and read them every N steps.
    Misses: a wait that some library calls for from C++.
    """

    code = "TDY302"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "remove synchronize() from the loop; take times with torch.cuda.Event"
    examples = (
        Fires(
            "every-step",
            """
            # device 0 NVIDIA A100 8.0
            train.py(7): train
              ProfilerStep#1 500us
                aten::mm
                  cudaLaunchKernel
                    => gemm 100us
                torch/cuda/__init__.py(900): synchronize
                  <built-in function _cuda_synchronize>
                    cudaDeviceSynchronize 120us
                aten::zeros 50us
                aten::relu
                  cudaLaunchKernel
                    => relu
              ProfilerStep#2 500us
                aten::mm
                  cudaLaunchKernel
                    => gemm 100us
                torch/cuda/__init__.py(900): synchronize
                  <built-in function _cuda_synchronize>
                    cudaDeviceSynchronize 120us
                aten::zeros 50us
                aten::relu
                  cudaLaunchKernel
                    => relu
            """,
            events=2,
            at="train.py:7",
        ),
        Fires(
            "without-stacks",
            """
            # device 0 AMD-Instinct
            ProfilerStep#1 500us
              aten::mm
                hipLaunchKernel
                  => gemm 100us
              hipDeviceSynchronize 2us
            ProfilerStep#2 500us
              aten::mm
                hipLaunchKernel
                  => gemm 100us
              hipDeviceSynchronize 2us
            """,
            events=2,
            severity=Severity.INFO,
        ),
        Quiet(
            "by-the-profiler",
            """
            # device 0 NVIDIA A100 8.0
            train.py(7): train
              ProfilerStep#1 500us
                aten::mm
                  cudaLaunchKernel
                    => gemm 100us
              ProfilerStep#2 500us
                aten::mm
                  cudaLaunchKernel
                    => gemm 100us
              torch/profiler/profiler.py(800): step
                torch/autograd/profiler.py(300): __exit__
                  torch/cuda/__init__.py(900): synchronize
                    <built-in function _cuda_synchronize>
                      cudaDeviceSynchronize 120us
            """,
        ),
        Quiet(
            "in-an-op",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::item
                cudaStreamSynchronize 20us
              aten::mm
                cudaLaunchKernel
                  => gemm
            ProfilerStep#2
              aten::item
                cudaStreamSynchronize 20us
            """,
        ),
        Abstains(
            "cut-down",
            """
            # device 0 NVIDIA A100 8.0
            aten::mm
              cudaLaunchKernel
                => gemm
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::mm"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is None and not (is_modelled(trace) or len(calls_of(trace, *SYNCHRONIZE))):
            # The profiler itself synchronises at the end, so the calls were left out.
            return NotChecked("no synchronising calls recorded", remedy([Capability.DEVICE]))
        return obstacle

    def check(self, trace: Trace) -> Iterable[Finding]:
        ops = trace.rows_of_kind(EventKind.TorchOp)
        working = set(np.unique(trace.track_id[ops]).tolist())
        last_op_ns = int(trace.start_ns[ops].max())
        places: dict[object, list[Event]] = {}
        for event in trace.events(calls_of(trace, *SYNCHRONIZE)):
            if event.parent is None and event.start_ns > last_op_ns:
                continue  # the profiler's own, as the recording ends
            if int(trace.track_id[event.row]) in working and _is_asked_for(event):
                places.setdefault(place_of(event), []).append(event)
        loop, busy = Loop(trace), any_busy(trace)
        for found in places.values():
            counts = loop.repeated([event.start_ns for event in found])
            events = list(compress(found, counts))
            if events:
                yield self._finding(trace, events, busy)

    def _finding(self, trace: Trace, events: list[Event], busy: Intervals) -> Finding:
        waits = [Wait(event, event.duration_ns, event.end_ns) for event in events]
        idle = idle_after(trace, waits, busy)
        finding = self.report(
            trace,
            events,
            message=f"the loop waits for the GPU on purpose{within_range(events)}",
            severity=severity_of(trace, waits, busy),
        )
        return costing(finding, trace, idle, saving_of(idle, waits), on_device=True)


def _is_asked_for(call: Event) -> bool:
    """Whether the user's code, or a library other than PyTorch, called for it."""
    in_range = named = False
    for above in call.ancestors():
        if above.kind == EventKind.TorchOp:
            return False
        if above.kind == EventKind.Annotation:
            if _INTERNAL_RANGES.match(above.name):
                return False
            in_range = True
            continue
        if in_range and not named:
            return True  # the call is in no frame inside the range: there are no stacks to ask
        named = named or "synchronize" in above.name
        frame = parse_frame(above.name)
        if frame is None or _FRONT_DOORS.search(frame.file):
            continue
        return named and (is_user_file(frame.file) or not _OF_TORCH.search(frame.file))
    return named or in_range or call.parent is None
