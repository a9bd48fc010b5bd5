"""TDY801: memory taken from the driver in step after step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tidy.finding import Obstacle
from tidy.trace import Capability, Event, Events, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import memory, obstacles
from ..evidence.device.devices import any_busy
from ..evidence.fixes import edits
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, on_gpu, steps, under
from ..option import EASY_WARNING, WORTH_A_WARNING, warning_share, word_share

_SHORT = WORK.replace("90us", "1us")
_MALLOC = under("aten::empty > cudaMalloc 100us")
_BOTH = under("aten::empty", "cudaFree 60us", "cudaMalloc 40us")
_UNCACHED = under("aten::empty", "cudaMalloc 60us", "[memory] 512B at 7 of 512/0")
_CACHED = under("aten::empty", "cudaMalloc 60us", "[memory] 512B at 7 of 512/2097152")
_RETRY = under("aten::mm", "cudaFree 60us", "cudaMalloc 40us", "[memory] 512B at 7 of 512/2097152")
_EMPTIED = under("torch/cuda/memory.py(233): empty_cache > cudaFree 60us")

_ON = "{}, in one step after the other"
_OFF = "the caching allocator is switched off: {}, as tensors come and go"
_SWITCH_ON = "unset PYTORCH_NO_CUDA_MEMORY_CACHING: tensors reuse memory that is kept"


def _steps(*parts: str) -> str:
    lasting = (under(f"ProfilerStep#{i} 300us", part) for i, part in enumerate(parts, 1))
    return on_gpu(*lasting, frame=FRAME)


class AllocatorChurn(DevicePattern):
    """Memory is taken from the driver, or given back, in step after step.

    What it does: It adds up the calls that ask the driver for memory or give it back, if two steps
    after the first have any. PyTorch keeps the memory it once took, so by then it needs no more. If
    such calls go on, shapes grow or change, memory is so short that cached blocks have to be given
    back, or buffers are pinned anew for each batch. If memory was recorded and the allocator holds
    no more than the tensors do, the caching allocator is switched off, and the finding says so.
    What `empty_cache()` does is left to TDY802, where stacks show it, and what is given back
    because memory is short to TDY803, where memory was recorded. Below 1 % of the steps it is not
    reported.
    Why it costs: The cost is the time of the calls in which no device works; `cudaFree` and
    `cudaHostAlloc` wait for the GPU as well.
    Example: Batches that are longer from step to step, recorded as

        ProfilerStep#2, #3, ...
          cudaMalloc, cudaFree, cudaHostAlloc, ... or their counterparts of HIP

    Instead: Use batches of one size (or of few sizes), pinned buffers that are kept, a smaller
    batch where memory is short, or `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. Where the
    caching allocator is off, unset `PYTORCH_NO_CUDA_MEMORY_CACHING` (`PYTORCH_NO_HIP_...` on AMD).
    Cannot see: It cannot judge recordings of two steps or less.
    """

    code = "TDY801"
    needs = frozenset({Capability.DEVICE})
    fix = "keep shapes and pinned buffers the same; expandable_segments:True if they vary"
    worth_a_word = word_share(EASY_WARNING, "calls for memory")
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("malloc-and-free", _steps(_MALLOC, _BOTH + WORK, _BOTH), events=5, at=AT),
        Fires(
            "caching-is-off", on_gpu(_SHORT, _UNCACHED * 2, _SHORT, frame=FRAME), events=2, at=AT
        ),
        Quiet("caching-is-on", _steps(_CACHED, WORK + _CACHED.replace("60us", "1us"))),
        Quiet("memory-is-short", _steps(WORK, _RETRY + WORK, _RETRY)),
        Quiet("first-step", _steps(_MALLOC, WORK, "aten::empty")),
        Quiet("one-new-shape", _steps(WORK, _MALLOC, "aten::empty")),
        Quiet("empty-cache", _steps(_EMPTIED, WORK + _MALLOC + _EMPTIED, _MALLOC + _EMPTIED)),
        Abstains("no-steps", on_gpu("aten::empty\n  cudaMalloc 40us", WORK)),
        Abstains("cpu-run", steps("aten::empty", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        none = not len(memory.driver_calls(trace))
        known = trace.steps or none or memory.caching_is_off(trace)
        return None if known else obstacles.not_recorded(trace, Capability.STEPS)

    def find(self, trace: Trace) -> Matches:
        rows = memory.churn(trace)
        rows = rows[trace.in_window(rows)]
        time = trace.time_of(rows) - any_busy(trace)
        if not len(rows) or (trace.step_share(time) or 0.0) < self.worth_a_word:
            return
        events = Events(trace, rows)
        counts = Counter(event.name for event in events)
        calls = ", ".join(f"{name} {count} times" for name, count in counts.most_common(3))
        yield Match(
            events,
            cost=time,
            message=_OFF.format(calls) if memory.caching_is_off(trace) else _ON.format(calls),
            edit=edits.without_ops(trace, events, "memory that is kept", edits.REMOVED),
            location=max(events, key=lambda event: event.duration_ns).location,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        return _SWITCH_ON if events and memory.caching_is_off(events[0].trace) else self.fix
