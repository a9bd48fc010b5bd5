"""`Match`: the events that a rule finds at one location, and as little else as it has to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import EllipsisType

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Event, Location

from .evidence.time.timing import NO_COST, Cost


@dataclass(frozen=True, slots=True)
class Match:
    """Events that are the same anti-pattern at one location; the rule gives what is left out.

    Attributes:
        events: those in the window count, if any are; none where it is said of the whole run.
        message: what was seen, one line; by default `Pattern.message(events)`.
        cost: what they cost, or the rows whose time that is; by default what `Pattern.cost_rows`
            counts for each event.
        edit: what the fix changes; by default `Pattern.edit(trace, events)`. None: not known.
        severity: where nothing is replayed; or the share of the window from which the cost is a
            warning, below which it is an info, unless `cost` is a `Cost`, which says that itself.
            By default `Pattern.severity_of(events[0])`.
        at_most: how severe it is where the fix saves much; by default `severity`. Of an info it is
            not sure that the fix saves anything, whatever a replay says.
        location: by default that of the first event. None: it has no location.
        fix: what to write instead, one line; by default `Pattern.fix_of(events)`.
    """

    events: Sequence[Event]
    message: str | None = None
    cost: Cost | Iterable[int] | None = None
    edit: Edit | EllipsisType | None = ...
    severity: Severity | float | None = None
    at_most: Severity | None = field(default=None, kw_only=True)
    location: Location | EllipsisType | None = field(default=..., kw_only=True)
    fix: str | None = field(default=None, kw_only=True)


def remark(events: Sequence[Event], message: str) -> Match:
    """Return a match about the whole run or its recording: it has no location and no cost."""
    return Match(events, message, NO_COST, edit=None, location=None)
