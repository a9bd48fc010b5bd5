"""Running rules on a trace."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence

from tidy.finding import (
    Checked,
    CostOfFinding,
    Crashed,
    Finding,
    Fix,
    NotApplicable,
    NotChecked,
    Outcome,
)
from tidy.trace import Capability, Location, Trace

from .base import Pattern
from .evidence.obstacles import not_recorded


def run_patterns(
    trace: Trace,
    patterns: Sequence[Pattern],
    progress: Callable[[Pattern], None] | None = None,
) -> dict[str, Outcome]:
    """The outcome of each rule by code. A rule that raises is `Crashed`; the others go on.

    Args:
        progress: called with each rule before it runs.
    """
    outcomes: dict[str, Outcome] = {}
    for pattern in patterns:
        if progress is not None:
            progress(pattern)
        outcomes[pattern.code] = run_pattern(trace, pattern)
    return outcomes


def run_on_ranks(traces: Sequence[Trace], patterns: Sequence[Pattern]) -> list[dict[str, Outcome]]:
    """For each rank of a job the outcome of the rules that compare ranks, by code."""
    outcomes: list[dict[str, Outcome]] = [{} for _ in traces]
    for pattern in patterns:
        if pattern.compares_ranks:
            for mine, outcome in zip(outcomes, _run_on_ranks(traces, pattern), strict=True):
                mine[pattern.code] = outcome
    return outcomes


def run_pattern(trace: Trace, pattern: Pattern) -> Outcome:
    """The outcome of one rule."""
    # Rules come from anywhere, so this and the next are the places that catch everything.
    try:
        obstacle = pattern.applies(trace)
        missing = sorted(pattern.needs - trace.capabilities)
        # Why there is no device work, the rule may know better: it can have been lost. That comes
        # first then, whatever else is missing.
        no_device = not_recorded(Capability.DEVICE)
        is_explained = obstacle is not None and Capability.DEVICE in missing
        is_explained &= obstacle != no_device or missing == [Capability.DEVICE]
        if missing and not is_explained and not isinstance(obstacle, NotApplicable):
            return not_recorded(*missing)
        if obstacle is not None:
            return obstacle
        return Checked(tuple(_valid(finding) for finding in pattern.check(trace)))
    except (Exception, SystemExit) as error:
        return _crashed(error)


def _run_on_ranks(traces: Sequence[Trace], pattern: Pattern) -> list[Outcome]:
    try:
        return [
            told
            if isinstance(told, (NotChecked, NotApplicable))
            else Checked(tuple(_valid(finding) for finding in told))
            for told in pattern.check_ranks(traces)
        ]
    except (Exception, SystemExit) as error:
        return [_crashed(error)] * len(traces)


def _crashed(error: BaseException) -> Crashed:
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    said = "".join(traceback.format_exception(error))
    return Crashed(f"{text} ({where.name}, line {where.lineno})", said)


def _valid(finding: object) -> Finding:
    """A finding that a report can show.

    Raises:
        TypeError: the rule gave something else.
    """
    if not isinstance(finding, Finding):
        raise TypeError(f"check() gave {type(finding).__name__}, not a Finding")
    for name, kinds in _TYPES.items():
        value = getattr(finding, name)
        if not isinstance(value, kinds):
            raise TypeError(f"Finding.{name} is {type(value).__name__}: {value!r}")
    if finding.cost_share is not None and not 0 <= finding.cost_share <= 1:
        raise TypeError(f"Finding.cost_share is {finding.cost_share!r}, not a share")
    return finding


_TYPES: dict[str, tuple[type, ...]] = {
    "cost": (CostOfFinding,),
    "correction": (Fix,),
    "message": (str,),
    "fix": (str,),
    "location": (Location, type(None)),
    "cost_ns": (int,),
    "cost_share": (float, type(None)),
}
