"""TDY000: events whose name the user asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from tidy.errors import UsageError
from tidy.finding import Finding, NotApplicable, Severity
from tidy.trace import Trace

from ..base import Pattern


class NamedEvent(Pattern):
    """Events whose name matches a regular expression of yours (`--name REGEX`).

    Not an anti-pattern but a search: `tidy report trace.json --name 'aten::(copy_|_to_copy)'` lists
    where such events come from, how many there are and what they take. All kinds of events are
    searched, kernels too.

    Algorithm: `re.search(REGEX, event.name)`, one finding a name and place.
    """

    code, severity = "TDY000", Severity.INFO
    needs = frozenset()
    fix = "your own search: nothing to fix"

    def __init__(self, regex: str | None = None) -> None:
        try:
            self._regex = None if regex is None else re.compile(regex)
        except re.error as error:
            raise UsageError(f"--name {regex!r} is no regular expression: {error}") from error

    def applies(self, trace: Trace) -> NotApplicable | None:
        return NotApplicable("no --name was given") if self._regex is None else None

    def check(self, trace: Trace) -> Iterable[Finding]:
        regex = self._regex
        if regex is None:
            return
        wanted = np.array([bool(regex.search(name)) for name in trace.names], bool)
        places: dict[Any, list[int]] = {}
        for row in np.flatnonzero(wanted[trace.name_id]).tolist():
            places.setdefault((trace.name_id[row], trace.location(row)), []).append(row)
        for rows in places.values():
            yield self.report(
                trace,
                list(trace.events(rows)),
                message=f"named {trace.event(rows[0]).name!r}",
            )
