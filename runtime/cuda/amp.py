"""torch.cuda.amp's names."""

from __future__ import annotations

from typing import Any

from ..observe import autocast as amp
from ..optim.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]


def autocast(enabled: bool = True, **options: Any) -> amp.autocast:
    """`amp.autocast` for a device; where there is none it warns, and casts nothing."""
    return amp.autocast("cuda", enabled=enabled, **options)
