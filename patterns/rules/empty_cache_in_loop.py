"""TDY802: the caching allocator emptied in the training loop."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidy.finding import Finding, NotApplicable, NotChecked, Saving
from tidy.trace import Capability, Event, Trace, remedy

from ..allocator import emptied, giving_rows
from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device
from ..timing import severity_by_share, step_of

# Fewer are no loop: a script may empty the cache once, before it starts or after a validation.
_FEWEST_STEPS = 2
_WORTH_A_WARNING = 0.01


class EmptyCacheInLoop(Pattern):
    """`empty_cache()` in the training loop gives memory to the driver that the next step needs.

        torch/cuda/memory.py(...): empty_cache     in two steps or more
          => cudaFree                              each waits for the GPU
        cudaMalloc                                 of what follows

    Cost: the call itself, and every allocation up to the end of the step after it.
    Instead: nothing. Memory that the allocator keeps is used again, and does not add up; against
    fragmentation, `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.
    Misses: runs without Python stacks, where TDY801 shows the calls. Below 1 % of the step it is
    said as info, such as where little is cached.
    """

    code = "TDY802"
    needs = frozenset({Capability.DEVICE})
    fix = "remove torch.cuda.empty_cache() from the loop; the allocator reuses its memory"
    examples = (
        Fires(
            "each-step",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 300us
              train.py(5): train
                aten::mm
                  cudaLaunchKernel
                    => gemm 9us
                torch/cuda/memory.py(233): empty_cache
                  <built-in function _cuda_emptyCache>
                    cudaFree 90us
            ProfilerStep#2 300us
              train.py(5): train
                aten::empty
                  cudaMalloc 60us
                torch/cuda/memory.py(233): empty_cache
                  <built-in function _cuda_emptyCache>
                    cudaFree 90us
            """,
            events=2,
            at="train.py:5",
        ),
        Quiet(
            "once",
            """
            # device 0 NVIDIA A100 8.0
            train.py(3): main
              torch/cuda/memory.py(233): empty_cache
                cudaFree 90us
            ProfilerStep#1 300us
              aten::mm
                cudaLaunchKernel
                  => gemm 9us
            ProfilerStep#2 300us
              aten::mm
                cudaLaunchKernel
                  => gemm 9us
            """,
        ),
        Abstains(
            "frees-without-stacks",
            """
            # device 0 NVIDIA A100 8.0
            aten::mm
              cudaLaunchKernel
                => gemm 9us
            cudaFree 90us
            cudaFree 90us
            """,
        ),
        Abstains("cpu-run", "torch/cuda/memory.py(233): empty_cache"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is not None:
            return obstacle
        freed = len(giving_rows(trace))
        if Capability.STACKS not in trace.capabilities and freed >= _FEWEST_STEPS:
            return NotChecked("no Python stacks recorded", remedy([Capability.STACKS]))
        if not trace.steps and len(emptied(trace).frames):
            return NotChecked("no steps recorded", remedy([Capability.STEPS]))
        return None

    def check(self, trace: Trace) -> Iterable[Finding]:
        found = emptied(trace)
        places: dict[object, list[Event]] = {}
        for event in trace.events(found.frames):
            places.setdefault(event.location, []).append(event)
        starts = trace.start_ns[found.calls]
        frame = np.searchsorted(trace.start_ns[found.frames], starts, side="right") - 1
        for events in places.values():
            steps = step_of(trace, [event.start_ns for event in events])
            count = len(np.unique(steps[steps >= 0]))
            if count < _FEWEST_STEPS:
                continue
            rows = [event.row for event in events]
            followed = found.calls[np.isin(found.frames[frame], rows)]
            time = trace.time_of([*rows, *followed.tolist()])
            yield self.report(
                trace,
                events,
                message=f"empty_cache() in {count} steps, "
                f"and {len(followed)} calls of the driver for it",
                severity=severity_by_share(trace.step_share(time), _WORTH_A_WARNING),
                cost_rows=[*rows, *followed.tolist()],
                saving=Saving(0, time.total_ns, "none where the host does not hold up the GPU"),
            )
