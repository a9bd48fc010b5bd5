"""TDY001: a function that torch.compile compiles again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from tidy.savings import Edit
from tidy.trace import Event, Trace, rows_of, time_text
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device.launches import by_start, rows_matching
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..examples import AT, FRAME, Fires, Quiet, steps, under

_COMPILES = "_compile.compile_inner (dynamo_timed)"
_ID = re.compile(
    r"entire_frame_compile_data: .*compile_id=(?:!\d+/)?(?P<frame>\d+)/(?P<number>\d+)"
)
_REGION = "Torch-Compiled Region: {}/{}"


def _compiled(number: int, rows: int) -> str:
    data = f"entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/{number}"
    return under(
        f"ProfilerStep#{number} > {FRAME}",
        under("_compile.compile_inner (dynamo_timed) 900us", data),
        under(f"Torch-Compiled Region: 0/{number}", f"aten::add | float[{rows}, 8], float[8]"),
    )


class RepeatedCompilation(Pattern):
    """A function is compiled again and again, for inputs that differ from earlier ones.

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

    def find(self, trace: Trace) -> Matches:
        again = [each for each in _compilations(trace) if each.number]
        alike = attrgetter("frame", "event.location")
        for part in loops.parts_in_steps(trace, again, alike, attrgetter("event")):
            events = [each.event for each in part]
            host = edits.host_time(trace, rows_of(events))
            # Code for any shape is compiled once, and may be a little slower.
            edit = Edit("compiled once", host=host, left=(0.0, 0.2))
            mean = time_text(float(np.mean([each.duration_ns for each in events])))
            said = f"a function is compiled again {len(part)} times, {mean} each"
            shapes = list(dict.fromkeys(filter(None, (each.shape for each in part))))
            if len(shapes) > 1:
                said += f", as shapes change: {', '.join(map(str, shapes[:3]))}"
            yield Match(events, said, edit=edit)


class _Compilation(NamedTuple):
    """The op that compiles a function, the function's number, and how often it was before."""

    event: Event
    frame: int
    number: int

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of what the first operator of the compiled code works on."""
        regions = self.event.trace.named(_REGION.format(self.frame, self.number))
        ops = regions[0].descendants() if regions else ()
        dims = (each.input_shapes[0] for each in ops if each.input_shapes)
        return next((tuple(each) for each in dims if each and is_dims(each)), None)


def _compilations(trace: Trace) -> Iterator[_Compilation]:
    """All of which the trace tells the function and the number, by start."""
    rows = by_start(trace, trace.rows_named(_COMPILES))
    marks = by_start(trace, rows_matching(trace, _ID, "entire_frame_compile_data: *"))
    for mark in trace.events(marks):
        # The innermost that is open, as what is compiled may compile something else.
        at = int(np.searchsorted(trace.start_ns[rows], mark.start_ns, side="right"))
        open_ = (row for row in rows[:at][::-1].tolist() if trace.end_ns[row] >= mark.start_ns)
        row, match = next(open_, None), _ID.fullmatch(mark.name)
        if row is None:  # the mark may come right before its compilation
            row = int(rows[at]) if at < len(rows) else None
        if row is not None and match is not None:
            yield _Compilation(trace.event(row), int(match["frame"]), int(match["number"]))
