"""TDY003: first calls among what was recorded."""

from __future__ import annotations

import re

from tidy.finding import Severity
from tidy.trace import Intervals, Trace, time_text
from tidy.trace.first_calls import ONCE

from ..base import DevicePattern, Match, Matches
from ..evidence.device import launches
from ..examples import WORK, Abstains, Fires, Quiet, joined, on_gpu, steps, under
from ..option import WORTH_A_WARNING, share

# Looking something up takes one to five, loading it tens to thousands.
_SHORTEST_LOAD_NS = 10_000

_LOADS = under("aten::mm > cuModuleLoadData 90us")
_COLD = steps(_LOADS * 9, WORK, count=1)
_SLOW = under("aten::mm > cudaLaunchKernel 2000us > => first_of_its_name 3us")
_ASKS = joined(under("aten::mm > cudaFuncGetAttributes 3us"), WORK)


class ColdRecording(DevicePattern):
    """The steps that count include first calls, such as loading kernels, which later steps do not
    make.

    What it does: It adds up the loading of kernels and libraries in the steps that count, in calls
    of 10 us or more, and launches and operators that take many times as long as their like because
    they are the first, where it is 5 % of these steps or more. Steps that are longer than others
    for that are left out already; this is about recordings of a step or two, in which no other step
    tells what is usual. If no steps are marked, such calls are left out of the run; then it reports
    them if they take longer than all that counts.
    Why it costs: It costs nothing in a long run, but shares and savings of this report are wrong by
    that time.
    Example: A schedule without a warm-up, recorded as

        ProfilerStep#0
          cuModuleLoadData, Lazy Function Loading

    Instead: Record later steps, `schedule(wait=2, warmup=1, active=3)`, or run the model a few
    times before the recording begins.
    Cannot see: Caches that are cold show no calls.
    """

    code = "TDY003"
    severity = Severity.INFO
    fix = "record later steps: schedule(wait=2, warmup=1, active=3)"
    why_no_edit = "it is about the recording, not the run"
    worth_a_word = share(
        WORTH_A_WARNING, "where loading takes less of the window than this, the other figures stand"
    )
    examples = (
        Fires("one-cold-step", on_gpu(steps(_LOADS, WORK, count=1, lasts_us=200))),
        Fires("one-slow-launch", on_gpu(steps(_SLOW, WORK * 4, count=1, lasts_us=4000))),
        Fires("mostly-left-out", on_gpu(_SLOW, _SLOW.replace("its_name", "another"), WORK * 9)),
        Quiet("asked-before-each-launch", on_gpu(steps(_ASKS * 9, count=1, lasts_us=200))),
        Quiet("a-small-part", on_gpu(steps(_LOADS, WORK, count=1, lasts_us=3000))),
        Quiet("left-out", on_gpu(_COLD, steps(WORK, count=4, lasts_us=90))),
        Quiet("warm", on_gpu(steps(WORK, count=1))),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def find(self, trace: Trace) -> Matches:
        cold, window = _first_calls(trace), trace.window
        share = trace.step_share(cold) or 0.0
        left_out_ns = 0 if window.steps else sum(each.time_ns for each in window.left_out)
        if share >= self.worth_a_word:
            said = f"{share:.0%} of {window.whole} goes into loading kernels and libraries"
        elif left_out_ns > window.time_ns:
            loads, rest = time_text(left_out_ns), time_text(window.time_ns)
            said = f"first calls take {loads}, all else {rest}"
        else:
            return
        first = next(iter(trace.within(window.start_ns, window.end_ns)))
        yield Match([first], said, cost=cold, location=None)


def _first_calls(trace: Trace) -> Intervals:
    """The time of the window in which kernels and libraries were loaded, or something began.

    A short call loads nothing: some libraries ask for properties of a device, or of a kernel that
    is loaded already, before each launch.
    """
    pattern = next(pattern for words, pattern in ONCE if words == "first launches")
    rows = launches.rows_matching(trace, re.compile(pattern))
    rows = rows[trace.duration_ns[rows] >= _SHORTEST_LOAD_NS]
    return trace.time_of([*rows.tolist(), *trace.first_calls]) & trace.step_time
