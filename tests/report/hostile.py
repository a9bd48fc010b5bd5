"""Results whose names and messages try to break out of each form."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import tidy
from tidy import Pattern, Severity
from tidy.finding import CostOfFinding, Finding
from tidy.patterns.base import Match
from tidy.report.results import Results
from tidy.trace import Location, Trace

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "train_cnn.json.gz"
TEXTS = (
    "plain",
    "::error file=a.py,line=1::made up",
    "two\nlines\r\nof it %0A %25",
    "<script>alert(1)</script><img src=x onerror=y> &lt;",
    "a | b | `code` **bold** _it_ ~~no~~ $x$ | c",
    "[click](https://evil.example) ![i](x) {0} {{1}} www.evil.example",
    "@somebody #12 GH-12 octo/repo#3",
    "- item", "# head", "1. one", "\x1b[31mred\x07\x00", "\u202egnp.exe", "\\| \\` \\",
)  # fmt: skip


class Says(Pattern):
    """Says what it is given."""

    code = "XYZ001"
    fix = "nothing"

    def __init__(self, message: str, location: Location | None, count: int, severity: Severity):
        self._given = message, location, severity
        self._count = count

    def find(self, trace: Trace) -> list[Match]:
        message, location, severity = self._given
        numbers = [f" {number}" * (self._count > 1) for number in range(self._count)]
        events = list(trace.events([0]))
        return [
            Match(events, f"{message}{number}", severity=severity, location=location, fix="do")
            for number in numbers
        ]

    def finding(self, trace: Trace, match: Match) -> Finding:
        """It costs as many milliseconds as its number says, and one more."""
        number = int((match.message or "").rpartition(" ")[2]) if self._count > 1 else 0
        cost = CostOfFinding(10**6 * (number + 1), 0.1)
        return replace(super().finding(trace, match), cost=cost)


@cache
def _trace() -> Trace:
    return tidy.load(EXAMPLE)


def results(
    message: str = "plain",
    location: Location | None = None,
    *,
    root: Path = Path(),
    count: int = 1,
    severity: Severity = Severity.WARNING,
    script: str | None = "train.py",
) -> Results:
    """The results of one rule on a recorded trace."""
    rule = Says(message, location, count, severity)
    report = tidy.check(_trace(), select=["TDY000"], name="^$", patterns=[rule], savings="off")
    return Results([report], [rule], root, {}, 1, script=script)
