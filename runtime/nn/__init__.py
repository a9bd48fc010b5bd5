"""Layers, losses and what they are made of. All but `functional` is loaded when first asked for.

Source: torch/nn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import functional as functional


def __getattr__(name: str) -> Any:
    if name in ("parallel", "DataParallel"):
        parallel = import_module(f"{__name__}.parallel")
        return parallel if name == "parallel" else parallel.DataParallel
    if name.startswith("_") or "Module" in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for home in "module containers init utils layers".split():
        inside = import_module(f"{__name__}.{home}")
        mine = {k: v for k, v in vars(inside).items() if isinstance(v, type)}
        globals().update((k, v) for k, v in mine.items() if v.__module__ == inside.__name__)
    return getattr(import_module(__name__), name)
