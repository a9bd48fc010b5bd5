"""Owners of code, places in the source, and grouping by place."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress
from typing import TypeVar, cast

from tidy.trace import Event, EventKind, Trace, rows_of
from tidy.trace.kept import kept

from .frames import Owner, owner_by_name

_NUMBERED_STEP = re.compile(r"ProfilerStep#\d+")
T = TypeVar("T")


def is_step(event: Event) -> bool:
    """Tell whether an event is the range of a step that the profiler marks."""
    return _NUMBERED_STEP.fullmatch(event.name) is not None


def owner_of(event: Event) -> Owner:
    """Tell whose code an event belongs to; the user's where nothing says otherwise."""
    stack = event.trace.call_stack(event.row)
    if stack:
        of_frames = map(owner_by_name, map(str.strip, stack.split(";")))
        owner = next(filter(None, of_frames), None)
        if owner is not None:
            return owner
    above = event.parent
    return (_owner_at(above) if above is not None else None) or Owner.USER


def _owner_at(event: Event) -> Owner | None:
    """Tell whose code the nearest of an event and its ancestors is that tells by its name."""
    known = _known_owners(event.trace)
    owner, path, above = None, list[int](), cast("Event | None", event)
    while above is not None and owner is None:
        if above.row in known:
            owner = known[above.row]
            break
        path.append(above.row)
        owner, above = owner_by_name(above.name), above.parent
    known.update(dict.fromkeys(path, owner))
    return owner


@kept
def _known_owners(_: Trace) -> dict[int, Owner | None]:
    """By row what `_owner_at` has found, so that it goes up the same ancestors once."""
    return {}


def place_of(event: Event) -> Hashable:
    """Tell what events of one name at one place of the source share.

    That is the line or, without Python stacks, the names above except the number of the step.
    """
    location = event.location
    if location is not None:
        return location, event.name
    above = event.parent
    return event.name, *(_names_from(event.trace, above.row) if above is not None else ())


def _names_from(trace: Trace, row: int) -> tuple[str, ...]:
    """The names of an event and its ancestors, without the numbers of steps."""
    known = _known_names(trace)
    if row not in known:
        event = trace.event(row)
        names = (event.name, *(above.name for above in event.ancestors()))
        known[row] = tuple(name for name in names if not _NUMBERED_STEP.fullmatch(name))
    return known[row]


@kept
def _known_names(_: Trace) -> dict[int, tuple[str, ...]]:
    """By row what `_names_from` has found: many events have one parent."""
    return {}


def grouped(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Items with one key together; both groups and items in the order in which they came."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def parts(
    items: Iterable[T], key: Callable[[T], Hashable], event_of: Callable[[T], Event] | None = None
) -> list[list[T]]:
    """Items with one key together; those that the window leaves out are a group of their own.

    Args:
        event_of: as for `by_window`.
    """
    return [part for same in grouped(items, key) for part in by_window(same, event_of)]


def by_line(events: Iterable[Event]) -> list[list[Event]]:
    """Parts of one line of the source; events whose line is not known are together."""
    return parts(events, lambda event: event.location)


def by_window(items: Sequence[T], event_of: Callable[[T], Event] | None = None) -> list[list[T]]:
    """Items in the window of their trace, and items outside of it; only groups that hold some.

    Args:
        event_of: gives the event that tells when an item is; without it the items are events.
    """
    if not items:
        return []
    events = cast("Sequence[Event]", items) if event_of is None else list(map(event_of, items))
    inside = events[0].trace.in_window(rows_of(events))
    if inside.all():
        return [list(items)]
    groups = list(compress(items, inside)), list(compress(items, ~inside))
    return [group for group in groups if group]


def within_range(events: Sequence[Event]) -> str:
    """` in NAME` for events without a line, where the user marked a range around them; else ""."""
    if events[0].location is None:
        for above in events[0].ancestors():
            if above.kind == EventKind.Annotation and not _NUMBERED_STEP.fullmatch(above.name):
                return f" in {above.name}" if above.name else ""
    return ""
