"""Layers, losses and what they are made of. All but `functional` is loaded when first asked for.

Source: torch/nn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import functional as functional

_SHELVES = {
    "recurrent": "LSTM GRU RNN LSTMCell GRUCell RNNCell RNNBase RNNCellBase",
    "attention": "MultiheadAttention TransformerEncoderLayer TransformerDecoderLayer "
    "TransformerEncoder TransformerDecoder Transformer",
}
_HOMES = "parameter module containers init utils layers image_layers embedding"


def __getattr__(name: str) -> Any:
    if name in ("parallel", "DataParallel"):
        parallel = import_module(f"{__name__}.parallel")
        return parallel if name == "parallel" else parallel.DataParallel
    if name == "modules" or name in _HOMES.split():
        return import_module(f"{__name__}.{name}")
    for home, names in _SHELVES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{home}"), name)
    if name.startswith("_") or "Module" in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for home in _HOMES.split():
        inside = import_module(f"{__name__}.{home}")
        mine = {k: v for k, v in vars(inside).items() if isinstance(v, type)}
        globals().update((k, v) for k, v in mine.items() if v.__module__ == inside.__name__)
    return getattr(import_module(__name__), name)
