"""TDY801: memory taken from the driver in step after step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, NotApplicable, NotChecked, Saving
from tidy.trace import Capability, Intervals, Trace, remedy

from ..allocator import driver_rows, emptied
from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device
from ..timing import severity_by_share, step_of

# Steps after the first that was recorded; with one alone it may be a shape that is new.
_FEWEST_STEPS = 2
_WORTH_SAYING = 0.01


class AllocatorChurn(Pattern):
    """Memory is taken from the driver, or given back, in step after step.

        ProfilerStep#2, #3, ...
          cudaMalloc, cudaFree, cudaHostAlloc, ... or the same of HIP

    PyTorch keeps the memory it once took, so that after the first step there is nothing to take.
    Where this goes on, shapes grow or change, memory is so short that cached blocks have to be
    given back, or buffers are pinned anew for each batch. What `empty_cache()` does is left to
    TDY802, where stacks show it.

    Cost: the time of the calls; `cudaFree` and `cudaHostAlloc` wait for the GPU as well.
    Instead: batches of one size (or of few sizes), pinned buffers that are kept, a smaller batch
    where memory is short, `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.
    Misses: windows of two steps or less. Info from 1 % of the steps after the first, a warning
    from 5 %.
    """

    code = "TDY801"
    needs = frozenset({Capability.DEVICE})
    fix = "keep shapes and pinned buffers the same; expandable_segments:True if they vary"
    examples = (
        Fires(
            "malloc-and-free",
            """
            # device 0 NVIDIA A100 8.0
            train.py(5): train
              ProfilerStep#1 300us
                aten::empty
                  cudaMalloc 100us
              ProfilerStep#2 300us
                aten::empty
                  cudaFree 60us
                  cudaMalloc 40us
                aten::mm
                  cudaLaunchKernel
                    => gemm 9us
              ProfilerStep#3 300us
                aten::empty
                  cudaFree 60us
                  cudaMalloc 40us
            """,
            events=4,
            at="train.py:5",
        ),
        Quiet(
            "first-step",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 300us
              aten::empty
                cudaMalloc 100us
            ProfilerStep#2 300us
              aten::mm
                cudaLaunchKernel
                  => gemm 9us
            ProfilerStep#3 300us
              aten::empty
            """,
        ),
        Quiet(
            "one-new-shape",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 300us
              aten::mm
                cudaLaunchKernel
                  => gemm 9us
            ProfilerStep#2 300us
              aten::empty
                cudaMalloc 100us
            ProfilerStep#3 300us
              aten::empty
            """,
        ),
        Quiet(
            "empty-cache",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 300us
              torch/cuda/memory.py(233): empty_cache
                cudaFree 60us
            ProfilerStep#2 300us
              aten::mm
                cudaMalloc 40us
                cudaLaunchKernel
                  => gemm 9us
              torch/cuda/memory.py(233): empty_cache
                cudaFree 60us
            ProfilerStep#3 300us
              aten::mm
                cudaMalloc 40us
              torch/cuda/memory.py(233): empty_cache
                cudaFree 60us
            """,
        ),
        Abstains(
            "no-steps",
            """
            # device 0 NVIDIA A100 8.0
            aten::empty
              cudaMalloc 40us
            aten::mm
              cudaLaunchKernel
                => gemm 9us
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::empty"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is None and not trace.steps and len(driver_rows(trace)):
            return NotChecked("no steps recorded", remedy([Capability.STEPS]))
        return obstacle

    def check(self, trace: Trace) -> Iterable[Finding]:
        rows, steps = _after_the_first_step(trace)
        if len(np.unique(steps)) < _FEWEST_STEPS:
            return
        time = trace.time_of(rows.tolist())
        later = Intervals(
            [step.start_ns for step in trace.steps[1:]], [step.end_ns for step in trace.steps[1:]]
        )
        share = (time & later).total_ns / later.total_ns
        if share < _WORTH_SAYING:
            return
        events = list(trace.events(rows))
        counts = Counter(event.name for event in events)
        calls = ", ".join(f"{name} {count} times" for name, count in counts.most_common(3))
        yield self.report(
            trace,
            events,
            message=f"{calls} after the first step",
            severity=severity_by_share(share),
            location=max(events, key=lambda event: event.duration_ns).location,
            saving=Saving(0, time.total_ns, "none where the host does not hold up the GPU"),
        )


def _after_the_first_step(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Calls of the driver for memory in later steps, and the index of the step of each."""
    rows = driver_rows(trace)
    rows = rows[~np.isin(rows, emptied(trace).calls)]
    steps = step_of(trace, trace.start_ns[rows])
    return rows[steps > 0], steps[steps > 0]
