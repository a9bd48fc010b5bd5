"""Tables of expressions, in rows by theme, and of the functions of a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def calls(table: str) -> list[str]:
    """The expressions of a table, which semicolons divide; rows that begin with # say of what."""
    rows = [row.strip() for row in table.strip().split("\n") if not row.startswith("#")]
    return [call for row in rows for call in row.split("; ")]


def named(table: str) -> dict[str, str]:
    """The expressions of a table by name: each stands behind its name and a colon."""
    return dict(row.split(": ", 1) for row in calls(table))


def options_of(table: str) -> list[dict[str, Any]]:
    """The keyword arguments in each place of a table, as dicts."""
    return [eval(f"dict({row})") for row in calls(table)]  # noqa: S307


def functions_of(file: Mapping[str, Any], signature: str) -> list[Callable[..., Any]]:
    """The public functions that a file defines with this signature, in their order there."""
    own = [f for f in file.values() if inspect.isfunction(f) and f.__module__ == file["__name__"]]
    public = [f for f in own if not f.__name__.startswith("_")]
    return [f for f in public if str(inspect.signature(f)) == signature]
