"""TDY000: events whose name the user asked for."""

from __future__ import annotations

import re

import numpy as np

from tidy.errors import UsageError
from tidy.finding import NotApplicable, Severity
from tidy.trace import Trace

from ..base import Match, Matches, Pattern
from ..evidence.python import places


class NamedEvent(Pattern):
    """Events whose name matches a regular expression of yours (`--name REGEX`).

    What it does: It lists where such events come from, how many there are and what they take. All
    kinds of events are searched, kernels too. An event matches if `re.search(REGEX, event.name)`
    does, and there is one finding for each name and place.
    Why it costs: This is a search and not an anti-pattern. The cost is the time of the events.
    Example: `tidy report trace.json --name 'aten::(copy_|_to_copy)'` finds both of

        aten::to
          aten::_to_copy
            aten::copy_

    Instead: There is nothing to write instead.
    Cannot see: It does not find what the profiler did not record.
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

    def find(self, trace: Trace) -> Matches:
        regex = self._regex
        if regex is None:
            return
        wanted = np.array([bool(regex.search(name)) for name in trace.names], bool)
        events = trace.events(np.flatnonzero(wanted[trace.name_id]))
        for same in places.grouped(events, lambda event: (event.name, event.location)):
            yield Match(same, message=f"named {same[0].name!r}")
