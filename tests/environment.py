"""The environment of the processes that tests start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
# `make soak` has all cases where many are much alike, and PyTorch as it is; .ci/run has a few.
SOAK = "TIDY_SOAK" in os.environ
_HOW_TO_PRINT = {
    "CLICOLOR", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
}  # fmt: skip
_paths = [str(ROOT)]  # the package is found where this checkout is


def pairs(one: Sequence[str], other: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs for `make soak`; else so many that each value is in one."""
    if SOAK:
        return [*product(one, other)]
    count = max(len(one), len(other))
    return [(one[n % len(one)], other[n % len(other)]) for n in range(count)]


def environment(**changed: str) -> dict[str, str]:
    """Ours, without what says how to print, so that tests print alike everywhere."""
    kept = {key: value for key, value in os.environ.items() if key not in _HOW_TO_PRINT}
    ours = {"PYTHONPATH": os.pathsep.join(_paths), "PYTHONUTF8": "1", "TERM": "xterm"}
    return {**kept, **ours, **changed}


@contextmanager
def with_quick_torch() -> Iterator[None]:
    """Processes that are started here take half the time to import PyTorch; see quick_torch/."""
    _paths.append(str(Path(__file__).with_name("quick_torch")))
    try:
        yield
    finally:
        _paths.pop()
