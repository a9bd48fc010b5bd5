"""What a rule says of itself: as text for `tidy explain`, as Markdown for the rules page."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from textwrap import dedent, indent

from .base import Pattern
from .examples import Abstains, Fires


def explain_text(pattern: type[Pattern]) -> str:
    """The rule's documentation with one firing and one quiet example."""
    parts = [
        f"{pattern.code} {pattern.slug()} ({pattern.severity.label})",
        inspect.cleandoc(pattern.__doc__ or ""),
        f"Needs: {_needs(pattern)}.",
        f"Fix: {pattern.fix}",
    ]
    fires = next((each for each in pattern.examples if isinstance(each, Fires)), None)
    quiet = next((e for e in pattern.examples if not isinstance(e, (Fires, Abstains))), None)
    for title, example in (("It fires on", fires), ("It is quiet on", quiet)):
        if example is not None:
            outline = indent(dedent(example.outline).strip("\n"), "    ")
            parts.append(f"{title} ({example.name}):\n\n{outline}")
    return "\n\n".join(parts)


def rules_page(patterns: Iterable[type[Pattern]]) -> str:
    """All rules as one Markdown page."""
    listed = list(patterns)
    lines = [
        "# Rules",
        "",
        "<!-- Written by docs/make_rules.py from the rules; change those and run `make docs`. -->",
        "",
        "`tidy explain CODE` shows the same, with examples. Codes are permanent.",
        "",
        "| code | name | severity | needs |",
        "|---|---|---|---|",
    ]
    for p in listed:
        link = f"[{p.slug()}](#{p.code.lower()}-{p.slug()})"
        lines.append(f"| {p.code} | {link} | {p.severity.label} | {_needs(p)} |")
    for p in listed:
        lines += ["", f"## {p.code} {p.slug()}", "", inspect.cleandoc(p.__doc__ or "")]
        lines += ["", f"Fix: {p.fix}"]
    return "\n".join(lines) + "\n"


def _needs(pattern: type[Pattern]) -> str:
    return ", ".join(sorted(need.label for need in pattern.needs)) or "-"
