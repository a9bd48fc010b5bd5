"""torch.mps, torch.xpu, torch.mtia: devices that are never there."""

from __future__ import annotations

from typing import Any

from .core.later import refusing

__getattr__ = refusing("torch", "there is no such device")


def is_available() -> bool:
    return False


is_initialized = is_bf16_supported = is_available


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    """There is nothing to seed."""


manual_seed_all = manual_seed


def empty_cache(*_: Any) -> None:
    """Nothing is cached."""
