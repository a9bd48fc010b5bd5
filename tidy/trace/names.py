"""Event names by pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """The names that one of `patterns` describes; `*` stands for any text, all else for itself."""
    wanted = tuple(patterns)
    exact = {pattern for pattern in wanted if "*" not in pattern}
    globs = [p.split("*") for p in wanted if "*" in p]
    source = "|".join(".*".join(map(re.escape, parts)) for parts in globs)
    regex = re.compile(source, re.DOTALL) if globs else None
    return [n for n in names if n in exact or (regex is not None and regex.fullmatch(n))]
