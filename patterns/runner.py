"""Running rules on a trace."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence

from tidy.finding import Checked, Crashed, NotApplicable, NotChecked, Outcome
from tidy.trace import Trace

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
            return NotChecked(f"no {names} recorded", missing[0].remedy)
        return Checked(tuple(pattern.check(trace))) if obstacle is None else obstacle
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return Crashed(f"{text} ({where.name}, line {where.lineno})", traceback.format_exc())
