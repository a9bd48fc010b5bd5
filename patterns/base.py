"""`Pattern`: the base class of every rule (docs/writing-rules.md shows how to write one).

A rule says all about itself on the class, so that it can be listed without a trace, and keeps no
state between events, so that their order cannot matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import ClassVar, Literal

import numpy as np

from tidy.finding import CostOfFinding, Finding, Fix, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Intervals, Location, Trace, rows_of

from .evidence.obstacles import other_accelerator, without_device
from .evidence.places import parts
from .evidence.timing import NO_COST, Cost
from .examples import Example


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
        why_no_edit: why the rule cannot say what its fix changes, where `edit` gives None.
        compares_ranks: where several ranks of a job were recorded, `check_ranks` sees them all.
        examples: traces on which it fires or stays quiet; they are its tests.
    """

    code: ClassVar[str] = ""
    severity: ClassVar[Severity] = Severity.WARNING
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.OPS})
    triggers: ClassVar[str | frozenset[str]] = frozenset()
    traversal: ClassVar[Literal["dfs", "bfs"]] = "dfs"
    fix: ClassVar[str] = ""
    why_no_edit: ClassVar[str] = ""
    compares_ranks: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = ()

    # -- identity ---------------------------------------------------------------------------------

    @classmethod
    def slug(cls) -> str:
        """The name of the anti-pattern, from the class: `ForLoopIndexing` is for-loop-indexing."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def summary(cls) -> str:
        """The first sentence of the docstring, on one line."""
        paragraph = (cls.__doc__ or "").strip().split("\n\n")[0]
        return " ".join(paragraph.split())

    # -- what a rule overrides --------------------------------------------------------------------

    def applies(self, trace: Trace) -> Obstacle | None:
        """Why the rule cannot or need not look at `trace`, beyond `needs`; None if it should."""
        return None

    def match(self, event: Event) -> bool:
        """Whether the anti-pattern starts at `event`."""
        raise NotImplementedError(f"{type(self).__name__} defines neither match() nor check()")

    def check(self, trace: Trace) -> Iterable[Finding]:
        """All findings. Rules that think in tables override this instead of `match`."""
        return self.report_all(trace, self.matched_events(trace))

    def check_ranks(self, traces: Sequence[Trace]) -> Sequence[Iterable[Finding] | Obstacle]:
        """What the ranks of one job tell together, for each of them; see `compares_ranks`."""
        raise NotImplementedError(f"{type(self).__name__} compares ranks without check_ranks()")

    def message(self, events: Sequence[Event]) -> str:
        """What was seen, one line, for the matches at one place."""
        return self.summary()

    def fix_of(self, events: Sequence[Event]) -> str:
        """What to write instead at one place, one line, where the trace tells more than `fix`."""
        return self.fix

    def severity_of(self, event: Event) -> Severity:
        """The severity of one match; matches of one place are reported by severity."""
        return self.severity

    def cost_rows(self, event: Event) -> Iterable[int]:
        """Rows whose time is the cost of one match: the event's own, unless a part of it is."""
        return (event.row,)

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit | None:
        """What the fix of these matches changes in the recorded run; None where that is unknown.

        A report replays it: the saving, the severity and the order of findings follow.
        """
        return None

    # -- helpers ----------------------------------------------------------------------------------

    def matched_events(self, trace: Trace) -> list[Event]:
        """The events that `match` accepts, in order of the traversal."""
        tree = trace.tree_count
        names = (self.triggers,) if isinstance(self.triggers, str) else self.triggers
        rows: Iterable[int] = trace.rows_named(*names) if names else range(tree)
        if self.traversal == "bfs":  # calls and device work have no depth: they come last
            rows = sorted(rows, key=lambda row: int(trace.depth[row]) if row < tree else tree)
        return [event for event in trace.events(rows) if self.match(event)]

    def report_all(self, trace: Trace, events: Iterable[Event]) -> list[Finding]:
        """One finding for each place in the source (and severity), of the events found there."""
        same = parts(events, lambda event: (event.location, self.severity_of(event)))
        return [self.report(trace, part) for part in same]

    def report(
        self,
        trace: Trace,
        events: Sequence[Event],
        *,
        message: str | None = None,
        severity: Severity | None = None,
        warning_from: float | None = None,
        share: float | None = None,
        cost: Cost | None = None,
        cost_rows: Iterable[int] | None = None,
        location: Location | EllipsisType | None = ...,
        edit: Edit | EllipsisType | None = ...,
        at_most: Severity | None = None,
    ) -> Finding:
        """A finding for events at one place, of which those in the window count if any are.

        Args:
            message: by default `self.message(events)`.
            severity: by default that of the first event.
            warning_from: the share of the window from which the cost is a warning, not info, where
                nothing is replayed.
            share: what is compared with `warning_from`, by default the share of the cost.
            cost: the time that the events cost, where that is no event's own.
            cost_rows: rows whose time is the cost, by default what the rule counts for each event.
            location: by default that of the first event.
            edit: what the fix changes, by default what the rule says of these events.
            at_most: how severe it is where it saves much, by default `severity`.
        """
        severity = self.severity_of(events[0]) if severity is None else severity
        rows = rows_of(events)
        inside = trace.in_window(rows)
        counts = bool(inside.any()) or not len(rows)
        if counts and not inside.all():
            rows = rows[inside]
            events = Events(trace, rows)
        at_most = severity if at_most is None else at_most
        if not counts:
            edit = None
        elif edit is ...:
            edit = self.edit(trace, events)
        if cost is not None:
            time, on_device, matters = cost.time, cost.on_device, cost.matters
        else:
            if cost_rows is not None:
                costly = np.fromiter(cost_rows, np.int64)
            elif type(self).cost_rows is Pattern.cost_rows:
                costly = rows
            else:
                each_row = (row for event in events for row in self.cost_rows(event))
                costly = np.fromiter(each_row, np.int64)
            time, on_device = trace.time_of(costly), bool((trace.device[costly] >= 0).any())
            cost_share = trace.step_share(time) if share is None else share
            matters = warning_from is None or (cost_share or 0.0) >= warning_from
        if not matters and severity != Severity.ERROR:
            severity = Severity.INFO
        if not counts:
            time = Intervals()
            severity = at_most = severity if severity == Severity.ERROR else Severity.INFO
        return Finding(
            code=self.code,
            name=self.slug(),
            severity=severity,
            message=self.message(events) if message is None else message,
            location=events[0].location if location is ... else location,
            events=Events(trace, rows[np.argsort(trace.start_ns[rows], kind="stable")]),
            cost=CostOfFinding(
                ns=(time & trace.step_time).total_ns,
                share=trace.step_share(time),
                on_device=on_device,
                in_window=counts,
            ),
            correction=Fix(
                self.fix_of(events) if events else self.fix,
                edit,
                "" if edit is not None or not counts else self.why_no_edit,
                at_most,
            ),
        )

    def remark(self, trace: Trace, events: Sequence[Event], message: str) -> Finding:
        """An info about the run or its recording: at no place in the source, of no time."""
        return self.report(trace, events, message=message, location=None, cost=NO_COST, edit=None)

    # The vocabulary of TorchTidy; each takes time for its answer only.

    @staticmethod
    def siblings_of(event: Event) -> tuple[list[Event], list[Event]]:
        """Siblings before and after."""
        return event.siblings()

    @staticmethod
    def next_of(event: Event) -> Event | None:
        """The sibling after."""
        return event.next_sibling

    @staticmethod
    def prev_of(event: Event) -> Event | None:
        """The sibling before."""
        return event.previous_sibling

    @staticmethod
    def root_of(event: Event) -> Event:
        """The event at the root of its tree."""
        return event.root

    @staticmethod
    def go_up_until(event: Event, predicate: Callable[[Event], bool]) -> Event | None:
        """The nearest of the event and its ancestors that satisfies `predicate`, or None."""
        if predicate(event):
            return event
        return next((above for above in event.ancestors() if predicate(above)), None)


class DevicePattern(Pattern):
    """A rule about the work of a GPU: it does not apply to runs in which no GPU took part."""

    def applies(self, trace: Trace) -> Obstacle | None:
        return without_device(trace) or other_accelerator(trace) or self.lacks(trace)

    def lacks(self, trace: Trace) -> Obstacle | None:
        """Why the rule cannot or need not look at a trace with device work; None if it should."""
        return None
