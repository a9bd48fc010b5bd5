"""The page: one HTML document that holds its style, its modules and its data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..check.checked_trace import CheckedTrace
from ..patterns.registry import load_builtin_patterns
from ..report.results import Results
from . import USUAL_STEPS
from .content import page_content

# In the order in which they need each other.
MODULES = (
    "dom",
    "columns",
    "slices",
    "top",
    "findings",
    "memory",
    "drawing",
    "details",
    "timeline",
    "flame",
    "sources",
    "diff",
    "main",
)
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let) )", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page shows its report with JavaScript, which is switched off here.</noscript>
<main id="page"></main>
<script type="application/json" id="data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def to_html(results: Results, steps: Sequence[str] = USUAL_STEPS) -> str:
    """Return the whole page, with a timeline of these steps (see `shown_steps`)."""
    return document(page_content(results, steps))


def report_to_html(report: CheckedTrace) -> str:
    """Return the page of one report, with the documentation of tidy's own rules."""
    rules = [rule() for rule in load_builtin_patterns()]
    return to_html(Results([report], rules, Path.cwd(), {}, exit_code=0))


def document(content: dict[str, Any]) -> str:
    """Return a page that shows this content."""
    style, script = style_text(), script_text()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    # Within a script element `<` alone could end it; as an escape it is the same JSON.
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return _PAGE.format(policy=policy, title="tidy", style=style, data=data, script=script)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


@cache
def style_text() -> str:
    """Return the style of the page."""
    return "\n" + (files(__package__) / "web" / "page.css").read_text("utf-8")


@cache
def script_text() -> str:
    """Return the modules as one: in one scope they need neither imports nor exports."""
    parts = []
    for name in MODULES:
        text = (files(__package__) / "web" / f"{name}.js").read_text("utf-8")
        parts.append(_EXPORT.sub("", _IMPORT.sub("", text)))
    text = "\n" + "\n".join(parts)
    # Standard output need not be UTF-8, and a letter that it lacks would make another hash.
    return re.sub(r"[^\x00-\x7f]", lambda letter: f"\\u{ord(letter[0]):04x}", text)
