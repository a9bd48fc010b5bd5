"""torch.amp's names."""

from __future__ import annotations

from ..core.later import later
from ..observe.autocast import (
    autocast,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
)

__all__ = ["GradScaler", "autocast", "get_autocast_dtype"]
__all__ += ["is_autocast_available", "is_autocast_enabled"]
__getattr__ = later(__name__, {"..optim.grad_scaler": "GradScaler"})
