"""Running rules on a trace."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence

from tidy.finding import Checked, Crashed, Finding, NotApplicable, NotChecked, Outcome
from tidy.trace import Location, Trace, remedy

from .base import Pattern


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
        outcomes[pattern.code] = _run(trace, pattern)
    return outcomes


def _run(trace: Trace, pattern: Pattern) -> Outcome:
    # Rules come from anywhere, so this is the one place that catches everything.
    try:
        obstacle = pattern.applies(trace)
        missing = sorted(pattern.needs - trace.capabilities)
        if missing and not isinstance(obstacle, NotApplicable):
            names = " and ".join(capability.label for capability in missing)
            return NotChecked(f"no {names} recorded", remedy(missing))
        if obstacle is not None:
            return obstacle
        return Checked(tuple(_valid(finding) for finding in pattern.check(trace)))
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return Crashed(f"{text} ({where.name}, line {where.lineno})", traceback.format_exc())


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
    "message": (str,),
    "fix": (str,),
    "location": (Location, type(None)),
    "cost_ns": (int,),
    "cost_share": (float, type(None)),
}
