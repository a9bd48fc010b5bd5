"""`Pattern`: the base class of every rule (docs/writing-rules.md shows how to write one).

A rule says all about itself on the class, so that it can be listed without a trace, and keeps no
state between events, so that their order cannot matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tidy.finding import CostOfFinding, Finding, Fix, FixPlace, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Intervals, Location, Rows, Trace, rows_of

from .evidence.device.devices import hiding_host
from .evidence.device.obstacles import other_accelerator, without_device
from .evidence.python.places import parts
from .evidence.time.timing import NO_COST, Cost
from .examples import Example
from .option import EASY_WARNING, Option


@dataclass(frozen=True, slots=True)
class Match:
    """Events that are the same anti-pattern at one location; the rule gives what is left out.

    Attributes:
        events: those in the window count, if any are; none where it is said of the whole run.
        message: what was seen, one line; by default `Pattern.message(events)`.
        cost: the time that they cost, or the rows whose time that is; by default what
            `Pattern.cost_rows` counts for each event.
        edit: what the fix changes; by default `Pattern.edit(trace, events)`. None: not known.
        severity: where nothing is replayed; or the share of the window from which the cost is a
            warning, below which it is an info. By default `Pattern.severity_of(events[0])`, from
            `Pattern.warning_from` on.
        at_most: how severe it is where the fix saves much; by default `severity`. Of an info it is
            not sure that the fix saves anything, whatever a replay says.
        location: by default that of the first event. None: it has no location.
        fix: what to write instead, one line; by default `Pattern.fix_of(events)`.
        fix_place: where that is written, if it is known and is not the location.
    """

    events: Sequence[Event]
    message: str | None = None
    cost: Cost | Intervals | Iterable[int] | None = None
    edit: Edit | EllipsisType | None = ...
    severity: Severity | float | None = None
    at_most: Severity | None = field(default=None, kw_only=True)
    location: Location | EllipsisType | None = field(default=..., kw_only=True)
    fix: str | None = field(default=None, kw_only=True)
    fix_place: FixPlace | None = field(default=None, kw_only=True)


def _counted(trace: Trace, rows: Rows) -> NDArray[np.bool_]:
    """Tell for each row whether it counts: some of its time is in the window.

    `tidy run` ends a step in a hook of its optimizer, the rest of whose range is in the next step.
    What begins before the window and has less than half of its time there does not count, unless
    nothing else does.
    """
    inside = trace.in_window(rows)
    if trace.window.finished is not None or not len(trace.step_time):
        return inside
    time, starts, ends = trace.step_time, trace.start_ns[rows], trace.end_ns[rows]
    is_rest = ~time.contains(starts) & time.contains(ends)
    is_rest &= 2 * time.covered_ns(starts, ends) < ends - starts
    return inside & ~is_rest if (inside & ~is_rest).any() else inside


def remark(events: Sequence[Event], message: str) -> Match:
    """Return a match about the whole run or its recording: it has no location and no cost."""
    return Match(events, message, NO_COST, edit=None, location=None)


Matches = Iterable[Match]


class Pattern:
    """One anti-pattern: what it looks for, when it can be looked for, what to write instead.

    The docstring is the documentation (`tidy explain CODE`).

    Attributes:
        code: permanent, unique, three capital letters and three digits.
        severity: of a finding where nothing about the trace says otherwise.
        needs: without these capabilities of the trace the rule is not checked.
        triggers: names of events a match can start at, one or several, `*` for any text; empty for
            all events.
        traversal: order in which `match` sees events.
        fix: what to write instead, one line.
        warning_from: an option, the share of the window below which what a finding costs is info.
        why_no_edit: why the rule cannot say what its fix changes, where `edit` gives None.
        compares_ranks: where several ranks of a job were recorded, `find_on_ranks` sees them all.
        examples: traces on which it fires or stays quiet; they are its tests.
    """

    code: ClassVar[str] = ""
    severity: ClassVar[Severity] = Severity.WARNING
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.OPS})
    triggers: ClassVar[str | frozenset[str]] = frozenset()
    traversal: ClassVar[Literal["dfs", "bfs"]] = "dfs"
    fix: ClassVar[str] = ""
    warning_from: Option[float] | None = None
    why_no_edit: ClassVar[str] = ""
    compares_ranks: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = ()

    # -- identity ---------------------------------------------------------------------------------

    @classmethod
    def slug(cls) -> str:
        """Return the name of the anti-pattern, from the class: `ForLoopIndexing` is
        for-loop-indexing.
        """
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence of the docstring, on one line."""
        paragraph = (cls.__doc__ or "").strip().split("\n\n")[0]
        return " ".join(paragraph.split())

    # -- what a rule overrides --------------------------------------------------------------------

    def applies(self, trace: Trace) -> Obstacle | None:
        """Say why the rule cannot or need not check `trace`, beyond `needs`; None if it should."""
        return None

    def match(self, event: Event) -> bool:
        """Tell whether the anti-pattern starts at `event`."""
        raise NotImplementedError(f"{type(self).__name__} defines neither match() nor find()")

    def report(self, event: Event) -> str:
        """Describe the anti-pattern at one event, in one line."""
        return self.summary()

    def find(self, trace: Trace) -> Matches:
        """Find all matches. Rules that think in tables override this instead of `match`."""
        return self.by_place(self.matched_events(trace))

    def find_on_ranks(self, traces: Sequence[Trace]) -> Sequence[Matches | Obstacle]:
        """Return the matches of each rank, given all ranks of a job; see `compares_ranks`."""
        raise NotImplementedError(f"{type(self).__name__} compares ranks without find_on_ranks()")

    def message(self, events: Sequence[Event]) -> str:
        """Describe the matches at one location, in one line."""
        return self.report(events[0]) if events else self.summary()

    def fix_of(self, events: Sequence[Event]) -> str:
        """Return the fix for one location, in one line, if the trace tells more than `fix`."""
        return self.fix

    def severity_of(self, event: Event) -> Severity:
        """Return the severity of one match; matches at one location are grouped by it."""
        return self.severity

    def cost_rows(self, event: Event) -> Iterable[int]:
        """Return rows whose time is the cost of one match: the event's own, unless a part
        of it is.
        """
        return (event.row,)

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit | None:
        """Return the change that the fix of these matches makes to the run; None if unknown.

        A report replays it: the saving, the severity and the order of findings follow.
        """
        return None

    # -- helpers ----------------------------------------------------------------------------------

    def matched_events(self, trace: Trace) -> list[Event]:
        """Return the events that `match` accepts, in order of the traversal."""
        tree = trace.tree_count
        names = (self.triggers,) if isinstance(self.triggers, str) else self.triggers
        rows: Iterable[int] = trace.rows_named(*names) if names else range(tree)
        if self.traversal == "bfs":  # calls and device activity have no depth: they come last
            rows = sorted(rows, key=lambda row: int(trace.depth[row]) if row < tree else tree)
        return [event for event in trace.events(rows) if self.match(event)]

    def by_place(self, events: Iterable[Event]) -> list[Match]:
        """Return one match for each source location and severity, of the events found there."""
        same = parts(events, lambda event: (event.location, self.severity_of(event)))
        return [Match(part) for part in same]

    def finding(self, trace: Trace, match: Match) -> Finding:
        """Make the finding of a match, of whose events those in the window count if any are."""
        rows, events = rows_of(match.events), match.events
        inside = _counted(trace, rows)
        counts = bool(inside.any()) or not len(rows)
        if counts and not inside.all():
            rows = rows[inside]
            events = Events(trace, rows)
        edit = match.edit
        if edit is ... or not counts:
            edit = self.edit(trace, events) if counts else None
        cost, cost_rows = self._cost(trace, match, rows, events, edit)
        time = cost.time & trace.step_time if counts else Intervals()
        location = match.location
        if location is ...:
            location = events[0].location if events else None
        severity, at_most = self._severities(match, matters=bool(cost.matters), counts=counts)
        fix = match.fix
        if fix is None:
            fix = self.fix_of(events) if events else self.fix
        why_no_edit = self.why_no_edit if counts and edit is None else ""
        return Finding(
            code=self.code,
            name=self.slug(),
            severity=severity,
            message=self.message(events) if match.message is None else match.message,
            location=location,
            events=Events(trace, rows[np.argsort(trace.start_ns[rows], kind="stable")]),
            cost=CostOfFinding(
                ns=round(time.total_ns / trace.window.step_count),
                share=trace.step_share(time),
                on_device=cost.on_device,
                in_window=counts,
                rows=cost_rows if counts else None,
            ),
            correction=Fix(fix, edit, why_no_edit, at_most, match.fix_place),
        )

    def _cost(
        self, trace: Trace, match: Match, rows: Rows, events: Sequence[Event], edit: Edit | None
    ) -> tuple[Cost, Rows | None]:
        """Return the cost, with whether it is worth a warning, and its rows; None if unknown.

        What the host does while devices do other work may cost nothing: it is worth none.
        """
        counted, cost = None, match.cost
        if isinstance(cost, Intervals):
            cost = Cost(cost)
        elif not isinstance(cost, Cost):
            if cost is not None:
                rows = np.fromiter(cost, np.int64)
            elif type(self).cost_rows is not Pattern.cost_rows:
                each_row = (row for event in events for row in self.cost_rows(event))
                rows = np.fromiter(each_row, np.int64)
            counted = rows
            cost = Cost(trace.time_of(rows), on_device=bool((trace.device[rows] >= 0).any()))
        if cost.matters is None:
            floor = self.warning_from if match.severity is None else match.severity
            least = 0.0 if floor is None or isinstance(floor, Severity) else floor
            time = cost.time
            if edit is not None and edit.host and trace.devices_used and not cost.on_device:
                time = time - (hiding_host(trace) - trace.time_of(edit.work))
                least = max(least, EASY_WARNING)
            cost = cost._replace(matters=(trace.step_share(time) or 0.0) >= least)
        return cost, counted

    def _severities(
        self, match: Match, *, matters: bool, counts: bool
    ) -> tuple[Severity, Severity]:
        """Return the severity without a replay, and the highest one if the fix saves much."""
        severity = match.severity
        if not isinstance(severity, Severity):
            severity = self.severity_of(match.events[0]) if match.events else self.severity
        at_most = severity if match.at_most is None else match.at_most
        if severity == Severity.ERROR or (counts and matters):
            return severity, at_most
        return Severity.INFO, at_most if counts else Severity.INFO

    # The vocabulary of TorchTidy; each takes time for its answer only.

    @staticmethod
    def siblings_of(event: Event) -> tuple[list[Event], list[Event]]:
        """Siblings before and after."""
        return event.siblings()

    @staticmethod
    def next_of(event: Event) -> Event | None:
        """Return the sibling after."""
        return event.next_sibling

    @staticmethod
    def prev_of(event: Event) -> Event | None:
        """Return the sibling before."""
        return event.previous_sibling

    @staticmethod
    def root_of(event: Event) -> Event:
        """Return the event at the root of its tree."""
        return event.root

    @staticmethod
    def go_up_until(event: Event, predicate: Callable[[Event], bool]) -> Event | None:
        """Return the nearest of the event and its ancestors that satisfies `predicate`, or None."""
        if predicate(event):
            return event
        return next((above for above in event.ancestors() if predicate(above)), None)


class DevicePattern(Pattern):
    """A rule about GPU activity: it does not apply to runs in which no GPU took part."""

    def applies(self, trace: Trace) -> Obstacle | None:
        return without_device(trace) or other_accelerator(trace) or self.lacks(trace)

    def lacks(self, trace: Trace) -> Obstacle | None:
        """Say why the rule need not check a trace with GPU activity; None if it should."""
        return None
