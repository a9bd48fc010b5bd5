"""Checking a rule by its own examples: each is a test of it."""

from __future__ import annotations

from collections.abc import Iterator

from tidy.finding import Checked, Crashed, Outcome

from .base import Pattern
from .examples import Abstains, Example, Fires
from .runner import run_pattern


def problems_of(rule: type[Pattern], example: Example) -> list[str]:
    """List how a rule disagrees with an example of it, one line each; empty if it agrees."""
    try:
        trace = example.trace()
    except ValueError as error:
        return [f"the outline cannot be read: {error}"]
    return list(_problems(rule, example, run_pattern(trace, rule())))


def _problems(rule: type[Pattern], example: Example, outcome: Outcome) -> Iterator[str]:
    if isinstance(outcome, Crashed):
        yield f"the rule raised {outcome.error}"
    elif isinstance(example, Abstains):
        if isinstance(outcome, Checked):
            yield "the rule checked it instead of saying why it cannot or need not"
    elif not isinstance(outcome, Checked):
        yield f"the rule did not check it: {outcome.reason}"
    elif isinstance(example, Fires):
        findings = outcome.findings
        count = sum(finding.count for finding in findings)
        places = {str(finding.location or "") for finding in findings}
        severities = {finding.severity.label for finding in findings}
        wanted = (example.severity or rule.severity).label
        if count != example.events:
            yield f"{example.events} events expected, {count} found"
        if findings and places != {example.at}:
            yield f"expected at {example.at!r}, found at {', '.join(map(repr, sorted(places)))}"
        if findings and severities != {wanted}:
            yield f"severity {wanted} expected, {' and '.join(sorted(severities))} found"
    elif outcome.findings:
        found = ", ".join(f"{each.message!r} (x{each.count})" for each in outcome.findings)
        yield f"nothing expected, found {found}"
