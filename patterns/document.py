"""The documentation of a rule: text for `tidy explain`, Markdown for the rules page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from functools import partial
from textwrap import dedent, fill, indent
from typing import Any

from .base import Pattern
from .examples import Abstains, Fires
from .option import Option, options_of

# Headings in the docstring of a rule, each at the start of a line and followed by a colon.
HEADINGS = ("What it does", "Why it costs", "Example", "Instead", "Cannot see")
_HEADING = re.compile(rf"^({'|'.join(HEADINGS)}):\s*", re.MULTILINE)
_MOST_LINES = 10


def sections_of(pattern: type[Pattern]) -> dict[str, str]:
    """Return the docstring by heading; what stands before the first heading is under ""."""
    first, *rest = _HEADING.split(inspect.cleandoc(pattern.__doc__ or ""))
    texts = {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}
    return {heading: text.strip("\n") for heading, text in texts.items()}


def explain_text(pattern: type[Pattern], width: int = 80) -> str:
    """Return the rule's documentation with one firing and one quiet example.

    Args:
        pattern: the rule.
        width: of lines of prose, in columns. Code, and what was recorded of it, is not broken.
    """
    parts = [f"{pattern.code} {pattern.slug()} ({pattern.severity.label})"]
    for heading, text in sections_of(pattern).items():
        paragraphs = "\n\n".join(_filled(each, width - 2) for each in text.split("\n\n"))
        parts.append(f"{heading}:\n{indent(paragraphs, '  ')}" if heading else paragraphs)
    ends = (f"Needs: {_needs(pattern)}.", f"Fix: {pattern.fix}")
    parts += [fill(each, width - 2, break_on_hyphens=False) for each in ends]
    if options := options_of(pattern):
        declared = (f"  {name} = {_default(each)}: {each.reason}" for name, each in options.items())
        wrap = partial(fill, width=width - 2, subsequent_indent="    ", break_on_hyphens=False)
        parts.append("\n".join(["Options:", *map(wrap, declared)]))
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


def _filled(paragraph: str, width: int) -> str:
    """A paragraph at a width; drawings and lines that begin with a word and a colon stay."""
    if paragraph.startswith(" "):
        return paragraph
    parts = re.split(r"\n(?=[A-Z][a-z]+: )", paragraph)
    return "\n".join(fill(" ".join(part.split()), width, break_on_hyphens=False) for part in parts)


def rules_page(patterns: Iterable[type[Pattern]]) -> str:
    """Return all rules as one Markdown page."""
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
        link = f"[{p.slug()}](#{anchor_of(p)})"
        lines.append(f"| {p.code} | {link} | {p.severity.label} | {_needs(p)} |")
    for p in listed:
        lines += ["", f'<a id="{anchor_of(p)}"></a>', "", f"## {p.code} {p.slug()}"]
        for heading, text in sections_of(p).items():
            lines += ["", f"### {heading}", "", text] if heading else ["", text]
        lines += ["", f"Fix: {p.fix}"]
        if options := options_of(p):
            lines += ["", "### Options", ""]
            lines += [f"- `{n} = {_default(o)}`: {o.reason}" for n, o in options.items()]
    return "\n".join(lines) + "\n"


def anchor_of(rule: Pattern | type[Pattern]) -> str:
    """Return the anchor of a rule on that page: by its code, since names may change."""
    return rule.code.lower()


def _default(option: Option[Any]) -> str:
    """The default as it is written in TOML."""
    default = option.default
    return f"{default:_}" if isinstance(default, int) else f"{default:.4g}"


def _needs(pattern: type[Pattern]) -> str:
    return ", ".join(sorted(need.label for need in pattern.needs)) or "-"
