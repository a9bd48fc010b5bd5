"""TDY405: Python's garbage collector, in the steps."""

from __future__ import annotations

from tidy.savings import Edit
from tidy.trace import Trace, rows_of, time_text

from ..base import Match, Matches, Pattern
from ..evidence.device import devices, launches
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..examples import AT, FRAME, Fires, Quiet, launch, on_gpu, steps, under
from ..option import EASY_WARNING, word_share

_BY_HAND = "<built-in function collect>"
_BY_ITSELF = ("Python GC*", "gc_collect*", "GC generation*")

_OP = launch("aten::mm 9us", "gemm 5us", call="cudaLaunchKernel 5us")


class GarbageCollection(Pattern):
    """Python collects garbage in the steps, and the next kernel waits for it.

    What it does: It adds up the time of `gc.collect()` that Python stacks show, and of collections
    that the profiler recorded, in which no device works (without one, all of it), in two steps or
    more; from 1 % of the window on.
    Why it costs: A full collection looks at every object that lives, tens of milliseconds in a
    process that holds a model and its data. Ranks of a job collect at different times, and wait for
    each other.
    Example: `gc.collect()` at the end of each step, recorded as

        ProfilerStep#3
          <built-in function collect>        30 ms

    Instead: Leave it out: Python frees a tensor at once when nothing refers to it. `gc.freeze()`
    after the model was made keeps collections from visiting objects that live as long as the run;
    `gc.disable()` with a `gc.collect()` every few hundred steps lets all ranks collect together.
    Cannot see: Collections that Python starts by itself are in a trace only where the profiler was
    told to record them (`_ExperimentalConfig(record_python_gc_info=True)`), and never in one of
    `tidy run`, since recording makes Python start more; a pause without any event is not taken for
    one.
    """

    code = "TDY405"
    fix = "leave gc.collect() out of the steps; gc.freeze() once the model is made"
    worth_a_word = word_share(EASY_WARNING, "collections")
    examples = (
        Fires("by-hand", on_gpu(steps(_OP, under(FRAME, f"{_BY_HAND} 90us"), _OP)), 3, AT),
        Fires("by-itself", steps("aten::mm", "Python GC 90us"), events=3),
        Quiet("once", on_gpu(steps(_OP), under(FRAME, f"{_BY_HAND} 90us"), _OP)),
        Quiet("hidden", on_gpu(steps(launch("aten::mm 9us", "gemm 900us"), f"{_BY_HAND} 90us"))),
        Quiet("short", steps("aten::mm 900us", f"{_BY_HAND} 2us")),
        Quiet("other-functions", steps("aten::mm", "<built-in method collect of Gatherer> 900us")),
    )

    def find(self, trace: Trace) -> Matches:
        rows = launches.tree_rows(trace, _BY_HAND, *_BY_ITSELF)
        events = launches.outermost(list(trace.events(rows)))
        for part in loops.parts_in_steps(trace, events, places.place_of):
            time = trace.time_of(each.row for each in part) - devices.any_busy(trace)
            if (trace.step_share(time) or 0.0) >= self.worth_a_word:
                by = "gc.collect() is called" if part[0].name == _BY_HAND else "Python collects"
                host = edits.host_time(trace, rows_of(part))
                each = time_text(time.total_ns / len(part))
                # Now and then it has to be done.
                edit = Edit("not collected in the steps", host=host, left=(0.0, 0.2))
                said = f"{by} in the steps, {each} each time"
                yield Match(part, said, time & trace.step_time, edit)
