"""torch.cuda, on modelled devices: numpy computes the numbers, a model gives the times.

    tidy run --device a100 train.py         or TIDY_DEVICE=a100 python train.py
    tidy.runtime.cuda.configure("a100")     before the first tensor on it

Without that there is no device. Where to read first: dispatch.py (an operator), modelled_device.py
(a launch), clock.py (the host's time), cost (a kernel's); docs/modelled-device.md has the formulas.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import state
from .state import VARIABLE, configure

_LATER = {
    **dict.fromkeys("Stream Event ExternalStream synchronize".split(), "streams"),
    **dict.fromkeys(
        "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats "
        "memory_cached max_memory_cached memory_summary mem_get_info empty_cache "
        "reset_peak_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated "
        "reset_max_memory_cached set_per_process_memory_fraction".split(),
        "memory",
    ),
    **dict.fromkeys("CUDAGraph graph is_current_stream_capturing".split(), "graphs"),
    **dict.fromkeys(
        "get_device_name get_device_properties get_device_capability can_device_access_peer "
        "is_bf16_supported current_device set_device device device_of current_stream "
        "default_stream set_stream stream".split(),
        "current",
    ),
    "OutOfMemoryError": "allocator",
}

__all__ = ["VARIABLE", "configure", "device_count", "init", "is_available", "is_initialized"]
__all__ += ["ipc_collect", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether a device is configured."""
    return bool(state.devices)


def device_count() -> int:
    """How many are."""
    return len(state.devices)


def init() -> None:
    """There is nothing to load."""


def is_initialized() -> bool:
    """Whether there are devices, which need no further preparation."""
    return is_available()


def manual_seed_all(seed: int) -> None:
    """Devices draw from the CPU's stream of random numbers: `torch.manual_seed` seeds it."""


manual_seed = manual_seed_all


def ipc_collect() -> None:
    """Memory is not shared with other processes."""


def __getattr__(name: str) -> Any:
    if name in ("amp", "nvtx", "nccl", "comm"):
        return import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(
            f"tidy.runtime.cuda has no {name!r}; docs/runtime.md lists what it has"
        )
    found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found
