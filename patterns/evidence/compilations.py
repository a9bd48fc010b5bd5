"""Compilations of TorchDynamo: of which function each is, the how manieth, and on what it works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidy.trace import Event, Trace
from tidy.trace.inputs import is_dims

from .launches import by_start, rows_matching

_COMPILES = "_compile.compile_inner (dynamo_timed)"
_ID = re.compile(
    r"entire_frame_compile_data: .*compile_id=(?:!\d+/)?(?P<frame>\d+)/(?P<number>\d+)"
)
_REGION = "Torch-Compiled Region: {}/{}"


@dataclass(frozen=True, slots=True)
class Compilation:
    """One compilation of a function.

    Attributes:
        event: the op that compiles.
        frame: the number of the function.
        number: how often it was compiled before.
    """

    event: Event
    frame: int
    number: int

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of what the first operator of the compiled code works on."""
        trace = self.event.trace
        regions = trace.named(_REGION.format(self.frame, self.number))
        ops = regions[0].descendants() if regions else ()
        dims = (each.input_shapes[0] for each in ops if each.input_shapes)
        return next((tuple(each) for each in dims if each and is_dims(each)), None)


def compilations(trace: Trace) -> Iterator[Compilation]:
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
            yield Compilation(trace.event(row), int(match["frame"]), int(match["number"]))
