"""TDY802: the caching allocator emptied in the training loop."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from tidy.finding import Obstacle
from tidy.trace import Capability, Events, Trace, rows_of

from ..base import DevicePattern, Match, Matches
from ..evidence.device import launches, memory, obstacles
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, looped, on_gpu, steps, under
from ..option import EASY_WARNING, warning_share

_FRAME = "torch/cuda/memory.py(233): empty_cache"
_ASKS = under("aten::empty > cudaMalloc 60us")
_EMPTY = under(f"{_FRAME} > <built-in function _cuda_emptyCache> > cudaFree 90us")


class EmptyCacheInLoop(DevicePattern):
    """`empty_cache()` in the training loop gives memory to the driver that the next step needs.

    What it does: It finds calls of `empty_cache()` in two steps or more, and what the driver was
    then asked for.
    Why it costs: The call itself takes time, as it waits for the GPU, and so does every allocation
    up to the end of the step after it.
    Example: `torch.cuda.empty_cache()` at the end of each step, recorded as

        torch/cuda/memory.py(...): empty_cache     in two steps or more
          => cudaFree                              each waits for the GPU
        cudaMalloc                                 of what follows

    Instead: Remove it. Memory that the allocator keeps is used again, and does not add up. Against
    fragmentation, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.
    Cannot see: It needs Python stacks; without them TDY801 shows the calls.
    """

    code = "TDY802"
    needs = frozenset({Capability.DEVICE})
    fix = "remove torch.cuda.empty_cache() from the loop; the allocator reuses its memory"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("each-step", looped(_ASKS, WORK, _EMPTY, lasts_us=400), events=2, at=AT),
        Quiet("once", on_gpu(_EMPTY, steps(WORK, count=2, lasts_us=300), frame=FRAME)),
        Abstains("frees-without-stacks", on_gpu(WORK, "cudaFree 90us\n" * 2)),
        Abstains("cpu-run", _FRAME),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        freed = len(launches.calls_of(trace, *memory.GIVES))
        if Capability.STACKS not in trace.capabilities and freed >= loops.FEWEST_STEPS:
            return obstacles.not_recorded(trace, Capability.STACKS)
        if not trace.steps and len(memory.emptied_cache(trace).frames):
            return obstacles.not_recorded(trace, Capability.STEPS)
        return None

    def find(self, trace: Trace) -> Matches:
        emptied = memory.emptied_cache(trace)
        starts = trace.start_ns[emptied.calls]
        frame = np.searchsorted(trace.start_ns[emptied.frames], starts, side="right") - 1
        frames = trace.events(emptied.frames)
        for events in loops.parts_in_steps(trace, frames, attrgetter("location")):
            count = loops.count_steps(trace, [each.start_ns for each in events])
            rows = rows_of(events)
            followed = emptied.calls[np.isin(emptied.frames[frame], rows)]
            gone = Events(trace, np.append(rows, followed))
            yield Match(
                events,
                f"empty_cache() in {count} steps, and {len(followed)} calls of the driver for it",
                cost=gone.rows,
                edit=edits.without_ops(trace, gone, "memory that is kept", edits.REMOVED),
            )
