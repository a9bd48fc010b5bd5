"""TDY302: `torch.cuda.synchronize()` in every step."""

from __future__ import annotations

from operator import attrgetter

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import obstacles
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.time import waits
from ..examples import AFTER, AT, FRAME, WORK, Abstains, Fires, Quiet, looped, on_gpu, steps, under
from ..option import EASY_WARNING, warning_share

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
_AMD = "# device 0 AMD-Instinct\n"
_ON_AMD = under("aten::mm > hipLaunchKernel", "=> gemm 100us") + "hipDeviceSynchronize 2us\n"
_ITEM = under("aten::item > cudaStreamSynchronize 20us")


class ExplicitSynchronize(DevicePattern):
    """The training loop waits for the GPU on purpose, in every step.

    What it does: It finds calls of `torch.cuda.synchronize()` and its kin by the script, in two
    steps, or in three rounds of work where the trace has no steps. What PyTorch calls by itself is
    not reported: the profiler at the end of a recording, the capture of a graph, the emptying of
    the cache, data parallelism, ops. It is info where it is rarer than once a step.
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
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("every-step", looped(WORK, _SYNCHRONIZE, AFTER, lasts_us=500), events=2, at=AT),
        Fires("no-stacks", _AMD + steps(_ON_AMD, lasts_us=500), 3, severity=Severity.INFO),
        Quiet("by-the-profiler", on_gpu(steps(WORK, count=2), _BY_THE_PROFILER, frame=FRAME)),
        Quiet("by-a-capture", looped(WORK, _BY_A_CAPTURE, AFTER, count=3)),
        Quiet("by-the-cache", looped(WORK, _BY_THE_CACHE, AFTER, count=3)),
        Quiet("in-an-op", on_gpu(steps(_ITEM, WORK, count=2))),
        Abstains("cut-down", on_gpu(WORK)),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        if trace.device_is_modelled or len(waits.synchronizing_calls(trace)):
            return None
        # The profiler itself synchronises at the end, so the calls were left out.
        return obstacles.without_calls(trace) or NotChecked(
            "the file has calls of the driver, but none of those that synchronise",
            "keep all calls when a trace is filtered",
        )

    def find(self, trace: Trace) -> Matches:
        for found in loops.Loop(trace).parts(waits.asked_for(trace), attrgetter("event")):
            events = [wait.event for wait in found]
            yield Match(
                events,
                message=f"the loop waits for the GPU on purpose{places.within_range(events)}",
                cost=waits.cost_of_waits(trace, found, self.warning_from),
                edit=edits.without_waits(trace, events),
            )
