"""Event names by pattern: `*` stands for any text, all else for itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """The names that one of `patterns` describes."""
    parts = [pattern.split("*") for pattern in patterns]
    return [name for name in names if any(_fits(name, each) for each in parts)]


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether the parts of a pattern, with any text between them, make up a whole name."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return name == first
    if not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for part in parts[1:-1]:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end


class NameTable:
    """The names of a trace by pattern; each pattern is looked for once.

    Names are text that a trace holds once, and few against its events. Those that begin with some
    text stand together when they are sorted, so that only a pattern that begins with `*` has to be
    held against all of them.
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        """Take the number of each name."""
        self._ids = ids
        self._known: dict[str, list[int]] = {}

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._ids)

    def fitting(self, patterns: Iterable[str]) -> list[int]:
        """The numbers of the names that one of `patterns` describes, in ascending order."""
        found: set[int] = set()
        for pattern in patterns:
            if pattern not in self._known:
                self._known[pattern] = self._find(pattern)
            found.update(self._known[pattern])
        return sorted(found)

    def _find(self, pattern: str) -> list[int]:
        parts, ids = pattern.split("*"), self._ids
        first = parts[0]
        if len(parts) == 1:
            return [ids[pattern]] if pattern in ids else []
        if not first:
            # Most names hold none of it, which the longest part tells soonest.
            longest = max(parts, key=len)
            return [ids[name] for name in ids if longest in name and _fits(name, parts)]
        found = list[int]()
        for at in range(bisect_left(self._sorted, first), len(self._sorted)):
            name = self._sorted[at]
            if not name.startswith(first):
                break
            if _fits(name, parts):
                found.append(ids[name])
        return found
