"""Reports of several ranks of a job: each gets the time that it waits for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..account import jobs_of, waits_for_ranks
from ..trace import Location
from .checked_trace import CheckedTrace


def among_ranks(reports: Sequence[CheckedTrace]) -> list[CheckedTrace]:
    """The reports, in their order; those of ranks with what the traces of the others tell."""
    result = list(reports)
    waits = waits_for_ranks([report.trace for report in reports])
    for job in jobs_of([report.trace.info for report in reports]):
        everywhere = frozenset.intersection(*(_found(reports[number]) for number in job))
        for number in job:
            if waits[number] is not None:
                told = replace(reports[number], waits=waits[number], everywhere=everywhere)
                result[number] = told
    return result


def _found(report: CheckedTrace) -> frozenset[tuple[str, Location | None]]:
    checked = report.checked.values()
    return frozenset((f.code, f.location) for each in checked for f in each.findings)
