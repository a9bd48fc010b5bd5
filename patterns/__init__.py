"""Rules and what runs them. `tidy.Pattern` is the base class of a rule of one's own.

For those who write rules there are `examples`, `option`, `checking` and `evidence`
(docs/writing-rules.md); each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import base, checking, evidence, examples, option

__all__ = ["base", "checking", "evidence", "examples", "option"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return __all__
