"""torch.cuda's questions, and their answer: there is no device."""

from __future__ import annotations

from typing import Any

from .. import amp

__all__ = ["amp", "device_count", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def is_available() -> bool:
    """Whether there is a device; there is none."""
    return False


def device_count() -> int:
    """How many devices there are: none."""
    return 0


def manual_seed_all(seed: int) -> None:
    """Seeds the streams of all devices, of which there are none."""


manual_seed = manual_seed_all


def synchronize(device: Any = None) -> None:
    """Wait for a device.

    Raises:
        RuntimeError: there is none to wait for.
    """
    raise RuntimeError("tidy.runtime has no CUDA device")
