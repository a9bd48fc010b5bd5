"""Where the fix of a finding is made that is about a loader, an optimizer or a mode."""

from __future__ import annotations

from typing import Literal

from tidy.finding import FixPlace
from tidy.trace import Location, Trace
from tidy.trace.made_places import made_place


def made_at(
    trace: Trace, kind: Literal["loader", "optimizer"], used: Location | None
) -> FixPlace | None:
    """Where what is used here is made, if that is known and is another line."""
    made = made_place(trace, kind, used)
    if made is None or used is None or (made.file, made.line) == (used.file, used.line):
        return None
    return FixPlace(f"the {kind} is made", made)


def turned_on_at(trace: Trace, mode: Literal["anomaly mode"]) -> FixPlace | None:
    """Where a mode is turned on, if that is known."""
    place = made_place(trace, mode, None)
    return None if place is None else FixPlace("it is turned on", place)
