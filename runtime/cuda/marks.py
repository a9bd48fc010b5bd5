"""torch.cuda.nvtx and torch.cuda.profiler: marks for NVIDIA's tools, which nothing here reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def mark(msg: str) -> None:
    """Taken."""


def range_push(msg: str) -> int:
    return 0


def range_pop() -> int:
    return 0


def range_start(msg: str) -> int:
    return 0


def range_end(range_id: int) -> None:
    """Taken."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    yield


@contextlib.contextmanager
def profile(*args: Any) -> Iterator[None]:
    yield


def start() -> None:
    """Taken."""


stop = start
