"""Reports of outcomes written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidy import Finding, Report, Severity, Trace
from tidy.finding import Checked, CostOfFinding, Fix, Judged, Outcome
from tidy.trace import Location
from tidy.trace.outline import parse_outline


def trace(
    outline: str = "",
    path: str = "trace.json",
    rank: int | None = None,
    of: int = 2,
    warnings: Sequence[str] = (),
) -> Trace:
    """One op of 10 us that starts 1 us after the clock, and what `outline` adds."""
    header = ""
    if rank is not None:
        header = f'# distributedInfo {{"rank": {rank}, "world_size": {of}}}\n'
    return parse_outline(header + "aten::add 10us\n" + outline, path, warnings)


def finding(
    code: str = "XYZ001",
    severity: Severity = Severity.WARNING,
    *,
    at: str = "train.py:7",
    message: str = "something that costs",
    fix: str = "do without",
    why_no_edit: str = "",
    matches: int = 1,
    run: Trace | None = None,
    cost_ns: int = 0,
    cost_share: float | None = None,
    on_device: bool = False,
    **more: Any,
) -> Judged:
    """A finding whose location is the line of a call; `at` "" is an unknown location."""
    file, _, line = at.partition(":")
    event = (run or trace()).event(0)
    return Judged(
        code=code,
        name=f"rule-{code[3:]}",
        severity=severity,
        message=message,
        correction=Fix(fix, why_no_edit=why_no_edit),
        cost=CostOfFinding(cost_ns, cost_share, on_device),
        location=Location(file, int(line), "train", is_call_line=True) if at else None,
        events=(event,) * matches,
        **more,
    )


def report(*found: Finding, run: Trace | None = None, **others: Outcome) -> Report:
    """A report whose rules are checked where they found something, or as `others` has it."""
    checked = {each.code: Checked() for each in found}
    return Report(run or trace(), {**checked, **others}, [Judged.of(each) for each in found])
