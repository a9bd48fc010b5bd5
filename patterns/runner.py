"""Running rules on a trace."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from types import EllipsisType

from tidy.finding import (
    Checked,
    Crashed,
    Finding,
    FixPlace,
    NotApplicable,
    NotChecked,
    Outcome,
    Severity,
)
from tidy.savings import Edit
from tidy.trace import Capability, Location, Trace

from .base import Match, Pattern
from .evidence.device.obstacles import not_recorded


def run_patterns(trace: Trace, patterns: Sequence[Pattern]) -> dict[str, Outcome]:
    """Run rules and return the outcome of each by code. A rule that raises is `Crashed`; the others
    go on.
    """
    return {pattern.code: run_pattern(trace, pattern) for pattern in patterns}


def run_on_ranks(traces: Sequence[Trace], patterns: Sequence[Pattern]) -> list[dict[str, Outcome]]:
    """Run the rules that compare ranks; return their outcome by code for each rank of a job."""
    outcomes: list[dict[str, Outcome]] = [{} for _ in traces]
    for pattern in patterns:
        if pattern.compares_ranks:
            for mine, outcome in zip(outcomes, _run_on_ranks(traces, pattern), strict=True):
                mine[pattern.code] = outcome
    return outcomes


def run_pattern(trace: Trace, pattern: Pattern) -> Outcome:
    """Run one rule and return its outcome."""
    # Rules come from anywhere, so this and the next function catch everything.
    try:
        obstacle = pattern.applies(trace)
        missing = sorted(pattern.needs - trace.capabilities)
        # The rule may know better why device activity is missing: it can have been lost. That comes
        # first then, whatever else is missing.
        no_device = not_recorded(trace, Capability.DEVICE)
        is_explained = obstacle is not None and Capability.DEVICE in missing
        is_explained &= obstacle != no_device or missing == [Capability.DEVICE]
        if missing and not is_explained and not isinstance(obstacle, NotApplicable):
            return not_recorded(trace, *missing)
        if obstacle is not None:
            return obstacle
        return Checked(tuple(_finding(pattern, trace, match) for match in pattern.find(trace)))
    except (Exception, SystemExit) as error:
        return crashed_by(error)


def _run_on_ranks(traces: Sequence[Trace], pattern: Pattern) -> list[Outcome]:
    try:
        return [
            told
            if isinstance(told, (NotChecked, NotApplicable))
            else Checked(tuple(_finding(pattern, trace, match) for match in told))
            for trace, told in zip(traces, pattern.find_on_ranks(traces), strict=True)
        ]
    except (Exception, SystemExit) as error:
        return [crashed_by(error)] * len(traces)


def crashed_by(error: BaseException) -> Crashed:
    """Return what an error in a rule makes of its outcome, with the traceback."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    said = "".join(traceback.format_exception(error))
    return Crashed(f"{text} ({where.name}, line {where.lineno})", said)


def _finding(pattern: Pattern, trace: Trace, match: object) -> Finding:
    """The finding of a match, such that a report can show it.

    Raises:
        TypeError: the rule gave something else.
    """
    if not isinstance(match, Match):
        raise TypeError(f"find() gave {type(match).__name__}, not a Match")
    for name, kinds in _TYPES.items():
        value = getattr(match, name)
        if not isinstance(value, kinds):
            raise TypeError(f"Match.{name} is {type(value).__name__}: {value!r}")
    finding = pattern.finding(trace, match)
    for name in ("message", "fix"):
        value = getattr(finding, name)
        if not isinstance(value, str):
            raise TypeError(f"{name} is {type(value).__name__}: {value!r}")
    return finding


_TYPES: dict[str, tuple[type, ...]] = {
    "message": (str, type(None)),
    "edit": (Edit, EllipsisType, type(None)),
    "severity": (Severity, float, int, type(None)),
    "location": (Location, EllipsisType, type(None)),
    "fix": (str, type(None)),
    "fix_place": (FixPlace, type(None)),
}
