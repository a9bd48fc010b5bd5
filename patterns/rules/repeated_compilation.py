"""TDY001: a function that torch.compile compiles again and again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tidy.finding import Finding
from tidy.replay import Edit
from tidy.trace import Event, Trace, rows_of, time_text
from tidy.trace.inputs import is_dims

from ..base import Pattern
from ..evidence import edits, launches, loops, places
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
        under(f"{_COMPILES} 900us", data),
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

    def check(self, trace: Trace) -> Iterable[Finding]:
        again = [each for each in _compilations(trace) if each.number]
        for same in places.grouped(again, lambda each: (each.frame, each.event.location)):
            starts = [each.event.start_ns for each in same]
            if len(same) >= 2 and loops.count_steps(trace, starts) >= loops.FEWEST_STEPS:
                yield from self._found(trace, same)

    def _found(self, trace: Trace, same: Sequence[_Compilation]) -> Iterable[Finding]:
        for part in places.by_window(same, lambda each: each.event):
            mean = time_text(float(np.mean([each.event.duration_ns for each in part])))
            shapes = list(dict.fromkeys(filter(None, (_shape(trace, each) for each in part))))
            changes = f", as shapes change: {', '.join(map(str, shapes[:3]))}"
            yield self.report(
                trace,
                [each.event for each in part],
                message=(
                    f"a function is compiled again {len(part)} times, {mean} each"
                    + (changes if len(shapes) > 1 else "")
                ),
            )

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Code for any shape is compiled once, and may be a little slower."""
        host = edits.host_time(trace, rows_of(events))
        return Edit("compiled once", host=host, left=(0.0, 0.2))


@dataclass(frozen=True, slots=True)
class _Compilation:
    """One compilation of a function, numbered from 0."""

    event: Event
    frame: int
    number: int


def _compilations(trace: Trace) -> list[_Compilation]:
    rows = launches.by_start(trace, trace.rows_named(_COMPILES))
    marks = launches.by_start(
        trace, launches.rows_matching(trace, _ID, "entire_frame_compile_data: *")
    )
    found = []
    for mark in trace.events(marks):
        # The innermost that is open, as what is compiled may compile something else.
        at = int(np.searchsorted(trace.start_ns[rows], mark.start_ns, side="right"))
        open_ = (row for row in rows[:at][::-1].tolist() if trace.end_ns[row] >= mark.start_ns)
        row, match = next(open_, None), _ID.fullmatch(mark.name)
        if row is None:  # the mark may come right before its compilation
            row = int(rows[at]) if at < len(rows) else None
        if row is not None and match is not None:
            event = trace.event(row)
            found.append(_Compilation(event, int(match["frame"]), int(match["number"])))
    return found


def _shape(trace: Trace, compilation: _Compilation) -> tuple[int, ...] | None:
    """The shape of what the first operator of the compiled code works on."""
    region = _REGION.format(compilation.frame, compilation.number)
    for row in trace.rows_named(region)[:1].tolist():
        for each in trace.event(row).descendants():
            for dims in each.input_shapes[:1]:
                if dims and is_dims(dims):
                    return tuple(dims)
    return None
