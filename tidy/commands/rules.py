"""`tidy rules` and `tidy explain`: what the rules say of themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from ..patterns.document import explain_text
from ..patterns.registry import load_patterns, matching_patterns
from ..report.console import make_console
from ..report.json_report import written_by

SCHEMA_VERSION = 1
_INDENT = " " * 8


def list_rules(sources: Sequence[str], form: str) -> str:
    """Return all rules, those of further files or modules too, as "text" or "json"."""
    rules = load_patterns(sources)
    if form == "json":
        records = [
            {
                "code": rule.code,
                "name": rule.slug(),
                "severity": rule.severity.label,
                "summary": rule.summary(),
                "needs": sorted(need.value for need in rule.needs),
                "fix": rule.fix,
            }
            for rule in rules
        ]
        made = {"schema_version": SCHEMA_VERSION, "tool": written_by(), "rules": records}
        return json.dumps(made, indent=1)
    lines, width = [], make_console(sys.stdout).width
    for rule in rules:
        name = click.style(rule.slug(), bold=True)
        lines.append(f"{rule.code}  {name} {rule.severity.label}")
        lines.append(click.wrap_text(rule.summary(), width, _INDENT, _INDENT))
    return "\n".join(lines)


def explain_rules(choices: Sequence[str], sources: Sequence[str]) -> str:
    """Return what the rules look for that codes, beginnings of codes, or names choose."""
    chosen = matching_patterns(choices, load_patterns(sources))
    width = make_console(sys.stdout).width
    ruler = "-" * (width - 2)
    return f"\n\n{ruler}\n\n".join(explain_text(rule, width) for rule in chosen)
