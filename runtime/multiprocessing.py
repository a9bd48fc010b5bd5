"""torch.multiprocessing: Python's own; tensors are copied to other processes, and not shared."""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403

from .core.faces import WHY, refusing

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__all__ += ["spawn", "start_processes", *_python.__all__]  # noqa: PLE0604
_kept = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    return _kept[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Take one of the strategies; it has no effect, as nothing is shared."""
    assert new_strategy in get_all_sharing_strategies()
    _kept[0] = new_strategy


spawn = start_processes = refusing("torch.multiprocessing.spawn", WHY["distributed"])
