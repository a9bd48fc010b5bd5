"""torch.nn.functional's names: those of the operators that are declared for it."""

from __future__ import annotations

from typing import Any

from ..ops.table import PUBLIC


def __getattr__(name: str) -> Any:
    try:
        return PUBLIC["nn"][name]
    except KeyError:
        raise AttributeError(f"tidy.runtime.nn.functional has no {name!r}") from None


globals().update(PUBLIC["nn"])
__all__ = sorted(PUBLIC["nn"])
