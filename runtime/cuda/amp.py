"""torch.cuda.amp's names."""

from __future__ import annotations

from typing import Any

from ..observe import autocast as amp
from ..optim.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`torch.amp.custom_fwd` for a device."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    return amp.custom_bwd(bwd, device_type="cuda")


def autocast(enabled: bool = True, **options: Any) -> amp.autocast:
    """`amp.autocast` for a device; where there is none it warns, and casts nothing."""
    return amp.autocast("cuda", enabled=enabled, **options)
