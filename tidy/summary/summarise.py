"""From a checked trace to its summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ..account import main_track
from ..check.checked_trace import CheckedTrace
from ..finding import Judged
from ..jobs import collectives_of
from ..trace import Event, Events, Location, Trace
from .summary import EventSummary, FindingSummary, Origin, ReplaySummary, Summary

# A finding may have a hundred thousand matches. These many of the first ones and of the longest
# ones tell what they are like; `count` says how many there are.
FIRST_EVENTS = LONGEST_EVENTS = 20
_MOST_CALLS = 8
_LOOKED_AT = 1000  # events, for one at the location of the finding


def summary_of(report: CheckedTrace | Summary) -> Summary:
    """Return a summary as it is, and that of a checked trace."""
    return report if isinstance(report, Summary) else summarise(report)


def summarise(report: CheckedTrace, origin: Origin | None = None, number: int = 0) -> Summary:
    """Reduce a checked trace to what reports need of it.

    Args:
        origin: the file that it was read from, where that is known.
        number: its place among the traces that were checked together.
    """
    trace, weighed = report.trace, report.weighed
    host = trace.info.header.get("host_name")
    collectives = collectives_of(trace)
    # Only ranks of a job are asked why they are late in some steps.
    has_parts = bool(len(collectives) and report.accounts and trace.window.all_steps)
    return Summary(
        origin=origin or Origin(),
        host=host if isinstance(host, str) else "",
        process=_process(trace),
        number=number,
        run=report.summary,
        accounts=report.accounts,
        findings=tuple(_finding(each, at) for at, each in enumerate(report.findings)),
        replay=ReplaySummary(weighed.step_ns, weighed.step_ns_after, weighed.fidelity),
        checked=tuple(report.checked),
        not_checked=report.not_checked,
        not_applicable=report.not_applicable,
        crashed={code: replace(each, traceback="") for code, each in report.crashed.items()},
        collectives=collectives,
        savings=report.savings,
        warn_from=report.warn_from,
        step_parts=report.accountant.step_parts() if has_parts else None,
        source=report,
    )


def _process(trace: Trace) -> str:
    track = main_track(trace)
    return str(trace.tracks[track].pid) if track >= 0 else ""


def _finding(finding: Judged, number: int) -> FindingSummary:
    place = finding.fix_place
    return FindingSummary(
        number=number,
        code=finding.code,
        name=finding.name,
        severity=finding.severity,
        message=finding.message,
        location=finding.location,
        fix=finding.fix,
        fix_what="" if place is None else place.what,
        fix_location=None if place is None else place.location,
        why_no_edit=finding.correction.why_no_edit,
        count=finding.count,
        cost_ns=finding.cost_ns,
        cost_share=finding.cost_share,
        on_device=finding.on_device,
        in_window=finding.in_window,
        saving=finding.saving,
        acceptance=finding.acceptance,
        known=finding.known,
        events=tuple(
            EventSummary(each.name, each.start_ns, each.duration_ns)
            for each in _shown(finding.events)
        ),
        called_from=_called_from(finding),
    )


def _shown(events: Sequence[Event]) -> Sequence[Event]:
    """The first matches and the longest ones, in their order."""
    if len(events) <= FIRST_EVENTS + LONGEST_EVENTS:
        return events
    rest = events[FIRST_EVENTS:]
    if isinstance(rest, Events):
        durations = rest.trace.duration_ns[rest.rows]
    else:
        durations = np.array([each.duration_ns for each in rest], np.int64)
    longest = np.argsort(-durations, kind="stable")[:LONGEST_EVENTS]
    return [*events[:FIRST_EVENTS], *(rest[at] for at in np.sort(longest).tolist())]


def _called_from(finding: Judged) -> tuple[Location, ...]:
    """The locations other than its own above the first match there, innermost first."""
    if finding.location is None or not finding.events:
        return ()
    # A finding about many lines has the location of most, which its first event need not be at.
    some = islice(finding.events, _LOOKED_AT)
    first = next((each for each in some if each.location == finding.location), finding.events[0])
    above = dict.fromkeys(each.location for each in (first, *first.ancestors()))
    others = (each for each in above if each is not None and each != finding.location)
    return tuple(islice(others, _MOST_CALLS))
