"""What a rule says of itself: as text for `tidy explain`, as Markdown for the rules page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from textwrap import dedent, fill, indent

from .base import Pattern
from .examples import Abstains, Fires

_MOST_LINES = 10


def explain_text(pattern: type[Pattern]) -> str:
    """The rule's documentation with one firing and one quiet example."""
    parts = [
        f"{pattern.code} {pattern.slug()} ({pattern.severity.label})",
        *(_filled(part) for part in inspect.cleandoc(pattern.__doc__ or "").split("\n\n")),
        f"Needs: {_needs(pattern)}.",
        f"Fix: {pattern.fix}",
    ]
    fires = next((each for each in pattern.examples if isinstance(each, Fires)), None)
    quiet = next((e for e in pattern.examples if not isinstance(e, (Fires, Abstains))), None)
    for title, example in (("It fires on", fires), ("It is quiet on", quiet)):
        if example is not None:
            lines = dedent(example.outline).strip("\n").split("\n")
            more = len(lines) - _MOST_LINES
            if more > 1:
                lines[_MOST_LINES:] = [f"... {more} more lines like these"]
            outline = indent("\n".join(lines), "    ")
            parts.append(f"{title} ({example.name}):\n\n{outline}")
    return "\n\n".join(parts)


def _filled(paragraph: str) -> str:
    """A paragraph at 80 columns; drawings and the lines of `Cost:` and its kin begin anew."""
    if paragraph.startswith(" "):
        return paragraph
    parts = re.split(r"\n(?=[A-Z][a-z]+: )", paragraph)
    return "\n".join(fill(" ".join(part.split()), 80, break_on_hyphens=False) for part in parts)


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
