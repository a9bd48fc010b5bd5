"""Layers, losses and what they are made of. All but `functional` is loaded when first asked for.

Source: torch/nn.
"""

# ruff: noqa: F403  (for type checkers only)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import functional as functional

if TYPE_CHECKING:
    from . import init as init
    from . import utils as utils
    from .containers import *
    from .layers import *
    from .module import Module as Module
    from .parameter import Parameter as Parameter

_HOMES = "parameter module containers init utils layers function_layers".split()


def __getattr__(name: str) -> Any:
    if name.startswith("_") or "Module" in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: dict[str, Any] = {}
    for home in (import_module(f"{__name__}.{home}") for home in _HOMES):
        mine = {k: v for k, v in vars(home).items() if isinstance(v, type)}
        found |= {k: v for k, v in mine.items() if v.__module__ == home.__name__}
    globals().update(found)
    return getattr(import_module(__name__), name)
