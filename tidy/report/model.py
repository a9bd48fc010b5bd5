"""`Report`: the outcome of all rules on one trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..finding import Checked, Crashed, Finding, NotApplicable, NotChecked, Outcome, Severity
from ..trace import Trace


@dataclass(frozen=True)
class Report:
    """What was found in one trace, and what could not be looked for.

    Attributes:
        trace: the trace.
        outcomes: for each rule by code what came of it.
    """

    trace: Trace
    outcomes: Mapping[str, Outcome]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, what matters most first: by severity, then by time."""
        found = [f for o in self.outcomes.values() if isinstance(o, Checked) for f in o.findings]
        return tuple(sorted(found, key=_rank))

    def _of(self, kind: type[Any]) -> dict[str, Any]:
        return {code: o for code, o in self.outcomes.items() if isinstance(o, kind)}

    @property
    def not_checked(self) -> dict[str, NotChecked]:
        """Rules that need something the trace does not hold."""
        return self._of(NotChecked)

    @property
    def not_applicable(self) -> dict[str, NotApplicable]:
        """Rules about something that had no part in the run."""
        return self._of(NotApplicable)

    @property
    def crashed(self) -> dict[str, Crashed]:
        """Rules that raised."""
        return self._of(Crashed)

    @property
    def counts(self) -> Counter[Severity]:
        """Number of findings by severity."""
        return Counter(finding.severity for finding in self.findings)

    def exit_code(self, fail_on: Severity | None = Severity.WARNING) -> int:
        """0 nothing at or above `fail_on`, 1 findings, 2 a rule crashed."""
        if self.crashed:
            return 2
        found = fail_on is not None and any(f.severity >= fail_on for f in self.findings)
        return int(found)

    def to_json(self) -> dict[str, Any]:
        """The report as `docs/report.schema.json` describes it."""
        from .json_report import report_to_json

        return report_to_json(self)

    def __str__(self) -> str:
        from .text import render

        return render([self])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _rank(finding: Finding) -> tuple[Any, ...]:
    where = finding.location
    return (
        -finding.severity,
        -(finding.cost_share or 0.0),
        -finding.cost_ns,
        finding.code,
        str(where) if where else "",
        finding.message,
    )
