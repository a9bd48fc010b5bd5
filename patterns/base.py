"""`Pattern`: the base class of every rule.

    class Busy(Pattern):
        '''Something that should not be.'''

        code, severity = "XYZ001", Severity.WARNING
        triggers = frozenset({"aten::foo"})
        fix = "what to write instead"

        def match(self, event):
            return event.duration_ns > 1_000_000

A rule says all about itself on the class, so that it can be listed without a trace, and keeps no
state between events, so that their order cannot matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import ClassVar, Literal

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Capability, Event, Location, Trace

from .examples import Example


class Pattern:
    """One anti-pattern: what it looks for, when it can be looked for, what to write instead.

    The docstring is the documentation (`tidy explain CODE`).

    Attributes:
        code: permanent, unique, three capital letters and three digits.
        severity: of a finding where nothing about the trace says otherwise.
        needs: without these capabilities of the trace the rule is not checked.
        triggers: names of events a match can start at, `*` for any text; empty for all events.
        traversal: order in which `match` sees events.
        fix: what to write instead, one line.
        examples: traces on which it fires or stays quiet; they are its tests.
    """

    code: ClassVar[str] = ""
    severity: ClassVar[Severity] = Severity.WARNING
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.OPS})
    triggers: ClassVar[frozenset[str]] = frozenset()
    traversal: ClassVar[Literal["dfs", "bfs"]] = "dfs"
    fix: ClassVar[str] = ""
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

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        """Why the rule cannot or need not look at `trace`, beyond `needs`; None if it should."""
        return None

    def match(self, event: Event) -> bool:
        """Whether the anti-pattern starts at `event`."""
        raise NotImplementedError(f"{type(self).__name__} defines neither match() nor check()")

    def check(self, trace: Trace) -> Iterable[Finding]:
        """All findings. Rules that think in tables override this instead of `match`."""
        return self.report_all(trace, self.matched_events(trace))

    def message(self, events: Sequence[Event]) -> str:
        """What was seen, one line, for the matches at one place."""
        return self.summary()

    def severity_of(self, event: Event) -> Severity:
        """The severity of one match; matches of one place are reported by severity."""
        return self.severity

    def cost_rows(self, event: Event) -> Iterable[int]:
        """Rows whose time is the cost of one match: the event's own, unless a part of it is."""
        return (event.row,)

    # -- helpers ----------------------------------------------------------------------------------

    def matched_events(self, trace: Trace) -> list[Event]:
        """The events that `match` accepts, in order of the traversal."""
        tree = trace.tree_count
        rows: Iterable[int] = trace.rows_named(*self.triggers) if self.triggers else range(tree)
        if self.traversal == "bfs":  # calls and device work have no depth: they come last
            rows = sorted(rows, key=lambda row: int(trace.depth[row]) if row < tree else tree)
        return [event for event in trace.events(rows) if self.match(event)]

    def report_all(self, trace: Trace, events: Iterable[Event]) -> list[Finding]:
        """One finding for each place in the source (and severity), of the events found there."""
        places: dict[object, list[Event]] = {}
        for event in events:
            places.setdefault((event.location, self.severity_of(event)), []).append(event)
        return [self.report(trace, group) for group in places.values()]

    def report(
        self,
        trace: Trace,
        events: Sequence[Event],
        *,
        message: str | None = None,
        severity: Severity | None = None,
        cost_rows: Iterable[int] | None = None,
        location: Location | EllipsisType | None = ...,
        saving: Saving | None = None,
    ) -> Finding:
        """A finding for events at one place.

        Its cost is the time of `cost_rows`, by default what the rule counts for each event; its
        place is that of the first event unless `location` says otherwise.
        """
        if cost_rows is None:
            cost_rows = (row for event in events for row in self.cost_rows(event))
        rows = list(cost_rows)
        cost = trace.time_of(rows)
        return Finding(
            code=self.code,
            name=self.slug(),
            severity=self.severity_of(events[0]) if severity is None else severity,
            message=self.message(events) if message is None else message,
            fix=self.fix,
            location=events[0].location if location is ... else location,
            events=tuple(sorted(events, key=lambda event: event.start_ns)),
            cost_ns=cost.total_ns,
            cost_share=trace.step_share(cost),
            on_device=any(trace.device[row] >= 0 for row in rows),
            saving=saving,
        )

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
