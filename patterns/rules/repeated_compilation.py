"""TDY001: a function that torch.compile compiles again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

import numpy as np

from tidy.savings import Edit
from tidy.trace import Event, Trace, rows_of, time_text

from ..base import Pattern
from ..evidence import edits, loops
from ..evidence.compilations import Compilation, compilations
from ..examples import AT, FRAME, Fires, Quiet, steps, under
from ..match import Match


def _compiled(number: int, rows: int) -> str:
    data = f"entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/{number}"
    return under(
        f"ProfilerStep#{number} > {FRAME}",
        under("_compile.compile_inner (dynamo_timed) 900us", data),
        under(f"Torch-Compiled Region: 0/{number}", f"aten::add | float[{rows}, 8], float[8]"),
    )


class RepeatedCompilation(Pattern):
    """A function is compiled again and again, for inputs that are not as before.

    What it does: It finds compilations by TorchDynamo, each of which the trace numbers, after the
    first one of the same function: two or more, in two steps. Where the shapes of what the compiled
    code works on are others each time, it says so.
    Why it costs: A compilation takes as long as hundreds of steps; after eight, PyTorch gives up
    and runs the function without compiling.
    Example: Batches of another length each time, recorded as

        ProfilerStep#3
          _compile.compile_inner (dynamo_timed)       compile_id=0/1
          Torch-Compiled Region: 0/1
        ProfilerStep#4
          _compile.compile_inner (dynamo_timed)       compile_id=0/2

    Instead: Pad or bucket the inputs, so that few shapes recur, or use
    `torch.compile(dynamic=True)`. `TORCH_LOGS=recompiles` tells the guard that failed.
    Cannot see: The guard that failed, and compilations before the recording.
    """

    code = "TDY001"
    fix = "pad inputs to few shapes, or torch.compile(dynamic=True)"
    examples = (
        Fires("a-new-shape-each-step", "".join(_compiled(n, 4 + n) for n in range(3)), 2, AT),
        Quiet("once", _compiled(0, 4) + steps(under("Torch-Compiled Region: 0/0", "aten::add"))),
        Quiet("once-more", "".join(_compiled(n, 4 + n) for n in range(2))),
        Quiet("not-compiled", steps("aten::add")),
    )

    def find(self, trace: Trace) -> Iterable[Match]:
        again = [each for each in compilations(trace) if each.number]
        alike = attrgetter("frame", "event.location")
        for part in loops.parts_in_steps(trace, again, alike, attrgetter("event")):
            yield Match(
                [each.event for each in part],
                message=_message(part),
            )

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Code for any shape is compiled once, and may be a little slower."""
        host = edits.host_time(trace, rows_of(events))
        return Edit("compiled once", host=host, left=(0.0, 0.2))


def _message(same: Sequence[Compilation]) -> str:
    mean = time_text(float(np.mean([each.event.duration_ns for each in same])))
    shapes = list(dict.fromkeys(filter(None, (each.shape for each in same))))
    changes = f", as shapes change: {', '.join(map(str, shapes[:3]))}"
    said = f"a function is compiled again {len(same)} times, {mean} each"
    return said + (changes if len(shapes) > 1 else "")
