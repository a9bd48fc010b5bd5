"""TDY302: `torch.cuda.synchronize()` in every step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tidy.finding import Finding, NotChecked, Obstacle, Severity
from tidy.replay import Edit
from tidy.trace import Capability, Event, EventKind, Trace
from tidy.trace.location import parse_frame

from ..base import DevicePattern
from ..evidence import devices, edits, frames, loops, obstacles, places, timing, waits
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..option import warning_share

_INTERNAL_RANGES = re.compile(
    r"(nccl|gloo|mpi|ucc|c10d)[:_]|FSDP::|FullyShardedDataParallel|DistributedDataParallel\."
)

_SYNCHRONIZE = under(
    "torch/cuda/__init__.py(900): synchronize > <built-in function _cuda_synchronize>",
    "cudaDeviceSynchronize 120us",
)
_BY_THE_PROFILER = under(
    "torch/profiler/profiler.py(800): step > torch/autograd/profiler.py(300): __exit__",
    _SYNCHRONIZE,
)
_BY_A_CAPTURE = under("torch/cuda/graphs.py(178): __enter__", _SYNCHRONIZE)
_BY_THE_CACHE = under("torch/cuda/memory.py(233): empty_cache", _SYNCHRONIZE)
_AFTER = joined("aten::zeros 50us", launch("aten::relu", "relu"))
_ON_AMD = launch("aten::mm", "gemm 100us", call="hipLaunchKernel") + "hipDeviceSynchronize 2us\n"
_ITEM = under("aten::item > cudaStreamSynchronize 20us")


class ExplicitSynchronize(DevicePattern):
    """The training loop waits for the GPU on purpose, in every step.

    What it does: It finds calls of `torch.cuda.synchronize()` and its kin by the script, in two
    steps, or in three rounds of work where the trace has no steps. What PyTorch calls by itself is
    not reported: the profiler at the end of a recording, the capture of a graph, the emptying of
    the cache, data parallelism, ops. It is info where it
    is rarer than once a step.
    Why it costs: When the host goes on the GPU has run out of work, and idles until the host has
    launched more. Idle time after a wait counts, for no longer than the host waited.
    Example: `torch.cuda.synchronize()` in the loop, recorded as

        torch/cuda/__init__.py(...): synchronize          with Python stacks
          cudaDeviceSynchronize

        ProfilerStep#1                                    without them, in no op
          cudaDeviceSynchronize

    Instead: Remove it; PyTorch keeps the order by itself. To take times, use events
    (`torch.cuda.Event(enable_timing=True)`) and read them every N steps.
    Cannot see: It misses waits that a library asks for from C++.
    """

    code = "TDY302"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "remove synchronize() from the loop; take times with torch.cuda.Event"
    warning_from = warning_share(timing.EASY_WARNING)
    examples = (
        Fires(
            "every-step",
            on_gpu(steps(WORK, _SYNCHRONIZE, _AFTER, count=2, lasts_us=500), frame=FRAME),
            events=2,
            at=AT,
        ),
        Fires(
            "without-stacks",
            joined("# device 0 AMD-Instinct", steps(_ON_AMD, count=2, lasts_us=500)),
            events=2,
            severity=Severity.INFO,
        ),
        Quiet("by-the-profiler", on_gpu(steps(WORK, count=2), _BY_THE_PROFILER, frame=FRAME)),
        Quiet("by-a-capture", on_gpu(steps(WORK, _BY_A_CAPTURE, _AFTER, count=3), frame=FRAME)),
        Quiet("by-the-cache", on_gpu(steps(WORK, _BY_THE_CACHE, _AFTER, count=3), frame=FRAME)),
        Quiet("in-an-op", on_gpu(steps(_ITEM, WORK, count=2))),
        Abstains("cut-down", on_gpu(WORK)),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        if trace.device_is_modelled or len(waits.synchronizing_calls(trace)):
            return None
        # The profiler itself synchronises at the end, so the calls were left out.
        if len(trace.rows_of_kind(EventKind.Runtime)):
            return NotChecked(
                "the file has calls of the driver, but none of those that synchronise",
                "keep all calls when a trace is filtered",
            )
        return obstacles.NO_CALLS

    def check(self, trace: Trace) -> Iterable[Finding]:
        busy = devices.any_busy(trace)
        same = loops.Loop(trace).by_place(_asked_for(trace), lambda event: event)
        for events in (part for place in same for part in places.by_window(place)):
            waited = [waits.Wait(event, event.duration_ns, event.end_ns) for event in events]
            message = f"the loop waits for the GPU on purpose{places.within_range(events)}"
            yield self.report(
                trace,
                events,
                message=message,
                cost=waits.cost_of_waits(trace, waited, busy, self.warning_from),
            )

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        return edits.without_waits(trace, events)


def _asked_for(trace: Trace) -> Iterator[Event]:
    """Waits that the script asks for, on threads that run ops."""
    ops = trace.rows_of_kind(EventKind.TorchOp)
    working = set(np.unique(trace.track_id[ops]).tolist())
    last_op_ns = int(trace.start_ns[ops].max())
    for event in trace.events(waits.synchronizing_calls(trace)):
        if event.parent is None and event.start_ns > last_op_ns:
            continue  # the profiler's own, as the recording ends
        if int(trace.track_id[event.row]) in working and _is_asked_for(event):
            yield event


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
        if frame is not None and not frames.is_front_door(frame):
            return named and not frames.is_of_framework(frame.file)
    return named or in_range or call.parent is None
