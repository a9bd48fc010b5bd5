"""What tests ask of an activity log, and work that takes a device long and numpy not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tidy.runtime as torch
from tidy.runtime.core.storage import storage_of
from tidy.runtime.modelled.activity import ActivityLog, DeviceWork, add_log, remove_log


@contextmanager
def recording() -> Iterator[ActivityLog]:
    """Everything the devices do inside."""
    log = ActivityLog()
    add_log(log)
    try:
        yield log
    finally:
        remove_log(log)


def number_of(tensor: Any) -> int:
    """That of its memory, as records name it."""
    storage = storage_of(tensor)
    assert storage is not None
    return storage.number


def kernels(log: ActivityLog, part: str = "") -> list[DeviceWork]:
    """The kernels whose name has `part` in it."""
    return [w for w in log.work if w.kind == "kernel" and part in w.name]


def place_of(work: DeviceWork) -> tuple[int, int]:
    """Its device and its stream."""
    return work.device, work.stream


def slow(device: str = "cuda", size: int = 384) -> Any:
    """A matrix of doubles, whose products take a T4 0.7 ms: some hundred times as long as a launch.

    They have 36 blocks, fewer than a T4 has multiprocessors: other kernels run beside them.
    """
    return torch.full((size, size), 1 / size, dtype=torch.float64, device=device)


def long(size: int = 512) -> Any:
    """Doubles whose product takes a T4 more than 1 ms."""
    return torch.ones(size, size, dtype=torch.float64, device="cuda")
