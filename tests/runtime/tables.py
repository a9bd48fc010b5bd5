"""Tables of expressions, in rows by theme."""

from __future__ import annotations


def calls(table: str) -> list[str]:
    """The expressions of a table, which semicolons divide; rows that begin with # say of what."""
    rows = [row.strip() for row in table.strip().split("\n") if not row.startswith("#")]
    return [call for row in rows for call in row.split("; ")]
