"""Where the fix of a finding is made about a loader, an optimizer, a module, a mode or threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from tidy.finding import FixPlace
from tidy.trace import Event, Location, Trace
from tidy.trace.made_places import has_places, made_place

from .frames import Owner, owner_by_name

_MODULE = "nn.Module: "


def made_at(
    trace: Trace, kind: Literal["loader", "optimizer"], used: Location | None
) -> FixPlace | None:
    """Find where what is used here is made, if that is known and is another line."""
    made = made_place(trace, kind, used)
    if made is None or used is None or (made.file, made.line) == (used.file, used.line):
        return None
    return FixPlace(f"the {kind} is made", made)


def module_made_at(trace: Trace, ops: Iterable[Event]) -> FixPlace | None:
    """Find where the module is made whose ops these are, by a class that is not the user's.

    Of modules that are made at several places it is the costliest.
    """
    return _place_of_modules(trace, ops, "module", "made")


def float64_made_at(trace: Trace, ops: Iterable[Event]) -> FixPlace | None:
    """Find where the module whose ops these are becomes float64, or where that is made the
    default.
    """
    found = _place_of_modules(trace, ops, "float64", "made float64")
    if found is not None:
        return found
    place = made_place(trace, "float64", None)
    return None if place is None else FixPlace("float64 is made the default", place)


def turned_on_at(trace: Trace, mode: Literal["anomaly mode"]) -> FixPlace | None:
    """Find where a mode is turned on, if that is known."""
    place = made_place(trace, mode, None)
    return None if place is None else FixPlace("it is turned on", place)


def threads_set_at(trace: Trace) -> Location | None:
    """Find where the number of threads is set, if the script does so in one place."""
    return made_place(trace, "threads", None)


def _place_of_modules(
    trace: Trace, ops: Iterable[Event], kind: Literal["module", "float64"], made: str
) -> FixPlace | None:
    if not has_places(trace):
        return None
    by_module: defaultdict[str, list[Event]] = defaultdict(list)
    known: dict[int, str] = {}
    for op in ops:
        forward = _forward(op)
        above = int(trace.parent[forward.row])
        if above not in known:
            known[above] = _module_around(forward)
        by_module[known[above]].append(op)
    by_place: defaultdict[Location | None, list[str]] = defaultdict(list)
    for name in by_module:
        by_place[made_place(trace, kind, name) if name else None].append(name)
    costliest = max(by_place, key=lambda at: _step_ns(trace, by_place[at], by_module), default=None)
    if costliest is None:
        return None
    classes = {name.rpartition("_")[0] for name in by_place[costliest]}
    what = classes.pop() if len(classes) == 1 else "modules"
    are = "is" if not classes else "are"
    which = "the" if len(by_place) == 1 else "the costliest"
    return FixPlace(f"{which} {what} {are} {made}", costliest)


def _step_ns(trace: Trace, names: Sequence[str], ops: dict[str, list[Event]]) -> int:
    rows = list[int]()
    for op in (op for name in names for op in ops[name]):
        rows += trace.device_rows_under(op.row).tolist() or [op.row]
    return (trace.time_of(rows) & trace.step_time).total_ns


def _forward(op: Event) -> Event:
    """Return the op whose backward this one is, or is in; or itself."""
    forward = op.trace.forward
    above = (forward.get(each.row) for each in (op, *op.ancestors()))
    row = next((row for row in above if row is not None), None)
    return op if row is None else op.trace.event(row)


def _module_around(op: Event) -> str:
    """Return the name of the module whose own forward calls an op; "" if the user's code does."""
    for above in op.ancestors():
        if above.name.startswith(_MODULE):
            return above.name.removeprefix(_MODULE)
        if owner_by_name(above.name) is Owner.USER:
            return ""
    return ""
