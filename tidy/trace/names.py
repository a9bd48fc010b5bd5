"""Event names by pattern: `*` stands for any text, all else for itself."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from functools import cache, cached_property

_LAST = "\U0010ffff"  # comes after any other character


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the names that one of `patterns` describes."""
    fits = [_fits(pattern) for pattern in patterns]
    return [name for name in names if any(each(name) for each in fits)]


@cache
def _fits(pattern: str) -> Callable[[str], object]:
    return re.compile(translate(re.sub(r"[?[]", r"[\g<0>]", pattern))).match


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
        """Return the numbers of the names that one of `patterns` describes, in ascending order."""
        found: set[int] = set()
        for pattern in patterns:
            if pattern not in self._known:
                self._known[pattern] = self._find(pattern)
            found.update(self._known[pattern])
        return sorted(found)

    def _find(self, pattern: str) -> list[int]:
        ids, first = self._ids, pattern.partition("*")[0]
        if first == pattern:
            return [ids[pattern]] if pattern in ids else []
        if first:
            begin, end = bisect_left(self._sorted, first), bisect_right(self._sorted, first + _LAST)
            some = self._sorted[begin:end]
            is_told = pattern == f"{first}*"
        else:
            # Most names hold none of it, which the longest part tells soonest.
            longest = max(pattern.split("*"), key=len)
            some = [name for name in ids if longest in name]
            is_told = pattern == f"*{longest}*"
        return [ids[name] for name in (some if is_told else matching(some, [pattern]))]
