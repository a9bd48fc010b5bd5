"""Reports with and without the account that stands before the findings."""

from __future__ import annotations

from collections.abc import Iterable


def without_account(lines: Iterable[str]) -> list[str]:
    """The lines of a report without its accounts, each from a heading to the next empty line."""
    kept, inside = [], False
    for line in lines:
        inside = (inside and line != "") or line.startswith(("Where the time", "Where the GPU"))
        if not inside:
            kept.append(line)
    return [b for a, b in zip(["x", *kept], kept, strict=False) if a or b]
