"""torch.utils.checkpoint's names."""

from contextlib import nullcontext
from typing import Any

from ..derivatives.checkpoint import (
    CheckpointError,
    CheckpointFunction,
    checkpoint,
    checkpoint_sequential,
)

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential"]
__all__ += ["get_device_states", "noop_context_fn", "set_device_states"]


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The devices of these tensors, and their random states: they draw from the CPU's."""
    return [], []


def set_device_states(devices: Any, states: Any, **_: Any) -> None:
    """There are none of their own."""


def noop_context_fn() -> Any:
    return nullcontext(), nullcontext()
