"""What a rule says of itself, as text: for `tidy explain` and the rules page."""

from __future__ import annotations

import inspect
from textwrap import dedent, indent

from .base import Pattern
from .examples import Abstains, Fires


def explain_text(pattern: type[Pattern]) -> str:
    """The rule's documentation with one firing and one quiet example."""
    needs = ", ".join(sorted(need.label for need in pattern.needs)) or "nothing in particular"
    parts = [
        f"{pattern.code} {pattern.slug()} ({pattern.severity.label})",
        inspect.cleandoc(pattern.__doc__ or ""),
        f"Needs: {needs}.",
        f"Fix: {pattern.fix}",
    ]
    fires = next((each for each in pattern.examples if isinstance(each, Fires)), None)
    quiet = next((e for e in pattern.examples if not isinstance(e, (Fires, Abstains))), None)
    for title, example in (("It fires on", fires), ("It is quiet on", quiet)):
        if example is not None:
            outline = indent(dedent(example.outline).strip("\n"), "    ")
            parts.append(f"{title} ({example.name}):\n\n{outline}")
    return "\n\n".join(parts)
