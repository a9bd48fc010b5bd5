"""Settings that PyTorch keeps for the process: the default device, determinism, printing aside.

Runs here are on one device and deterministic, so most are kept and have no effect.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .core.device import CPU, Device
from .core.dtypes import set_default_dtype
from .engine.hooks import check
from .ops.creation import default_generator

newaxis = None
_kept = {"deterministic": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Taken: nothing here gives other numbers the next time."""
    _kept["deterministic"] = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    return _kept["deterministic"]


def set_default_device(device: Any) -> None:
    """Take the CPU, or None; new tensors are on another device if they are asked for there."""
    wanted = CPU if device is None else Device(device)
    if wanted.type != "cpu":
        raise NotImplementedError("a device as a default for new tensors is not supported")


def get_default_device() -> Device:
    return CPU


def set_default_tensor_type(t: Any) -> None:
    """Have floats be what `torch.DoubleTensor`, given as it is or by name, holds."""
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    kind = name.removeprefix("torch.").removesuffix("Tensor").lower()
    fits = kind in ("float", "double", "half")
    check(fits, "only floating-point types are supported as the default type", TypeError)
    set_default_dtype({"float": "float32", "double": "float64", "half": "float16"}[kind])


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """Leave the stream of random numbers as it was before what is drawn within."""
    state = default_generator.get_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            default_generator.set_state(state)
