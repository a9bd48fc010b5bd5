"""torch.cuda, on modelled devices: numpy computes the numbers, a model gives the times.

    tidy run --device a100 train.py         or TIDY_DEVICE=a100 python train.py
    tidy.runtime.cuda.configure("a100")     before the first tensor on it

Without that there is no device. Where to read first: modelled/__init__.py draws the layers of the
machine, dispatch.py shows an operator; docs/modelled-device.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..accelerator import is_available
from ..core.later import later
from ..modelled.current_device import device_count as count_devices
from ..modelled.specs import VARIABLE
from ..ops.creation import get_rng_state, initial_seed, seed, set_rng_state
from ..ops.typed_tensors import ON_DEVICE

globals().update(ON_DEVICE)
__getattr__ = later(
    __name__,
    {
        "": "amp nvtx profiler",
        "..modelled.configuration": "configure",
        "..modelled.streams": "Stream Event=StreamEvent synchronize",
        "..modelled.memory_statistics": "memory_allocated max_memory_allocated memory_reserved "
        "max_memory_reserved memory_stats memory_cached max_memory_cached "
        "mem_get_info empty_cache reset_peak_memory_stats reset_max_memory_allocated "
        "reset_max_memory_cached set_per_process_memory_fraction",
        "..modelled.current_device": "current_device set_device device current_stream "
        "default_stream set_stream stream get_device_name get_device_properties device_count "
        "get_device_capability is_bf16_supported",
        "..modelled.caching_allocator": "OutOfMemoryError",
    },
)
__all__ = ["VARIABLE", "configure", "device_count", "init", "is_available", "is_initialized"]
__all__ += ["get_rng_state", "get_rng_state_all", "initial_seed", "is_current_stream_capturing"]
__all__ += ["manual_seed", "manual_seed_all", "seed", "set_rng_state", "set_rng_state_all"]


def init() -> None:
    """There is nothing to load."""


is_initialized = is_available


def is_current_stream_capturing() -> bool:
    """Say no: there are no CUDA graphs."""
    return False


def manual_seed_all(seed: int) -> None:
    """Devices draw from the CPU's stream of random numbers: `torch.manual_seed` seeds it."""


manual_seed = manual_seed_all


def get_rng_state_all() -> list[object]:
    """Return the state for each device; all draw from the CPU's stream."""
    return [get_rng_state() for _ in range(count_devices())]


def set_rng_state_all(new_states: Iterable[object]) -> None:
    for state in new_states:
        set_rng_state(state)
