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
_kept: dict[str, Any] = {"deterministic": False, "warn_only": False, "always": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Taken: nothing here gives other numbers the next time."""
    _kept.update(deterministic=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    return bool(_kept["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return bool(_kept["warn_only"])


_MODES: list[Any] = ["default", "warn", "error"]


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """`default`, `warn` or `error`, or the number of one.

    Raises:
        RuntimeError: none of these.
    """
    known = debug_mode in _MODES or debug_mode in (0, 1, 2)
    check(known, f"invalid value of debug_mode, expected one of {_MODES}, but got {debug_mode}")
    number = debug_mode if isinstance(debug_mode, int) else _MODES.index(debug_mode)
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    return 0 if not _kept["deterministic"] else 1 if _kept["warn_only"] else 2


def set_warn_always(b: bool) -> None:
    _kept["always"] = bool(b)


def is_warn_always_enabled() -> bool:
    return bool(_kept["always"])


def set_flush_denormal(mode: bool) -> bool:
    """False: there is no such setting in numpy."""
    return False


def set_num_interop_threads(count: int) -> None:
    """Taken: operators run one after the other."""
    check(count > 0, "set_num_interop_threads expects a positive number of threads")


def set_default_device(device: Any) -> None:
    """The CPU, or None; new tensors are on another device where they are asked for there."""
    wanted = CPU if device is None else Device(device)
    if wanted.type != "cpu":
        raise NotImplementedError("a device as a default for new tensors is not supported")


def get_default_device() -> Device:
    return CPU


def set_default_tensor_type(t: Any) -> None:
    """Floats become what `torch.DoubleTensor`, given as it is or by name, holds.

    Raises:
        TypeError: it holds no floating numbers, or is on a device.
    """
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    kind = name.removeprefix("torch.").removesuffix("Tensor").lower()
    fits = kind in ("float", "double", "half")
    check(fits, "only floating-point types are supported as the default type", TypeError)
    set_default_dtype({"float": "float32", "double": "float64", "half": "float16"}[kind])


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """What is drawn within leaves the stream of random numbers as it was."""
    state = default_generator.get_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            default_generator.set_state(state)


def typename(obj: Any) -> str:
    """`torch.FloatTensor` of a tensor; of others the class with its module."""
    if hasattr(obj, "array"):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{home}{kind.__qualname__}"
