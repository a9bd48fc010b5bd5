"""Training code under test: the plug-in that pytest loads, and what it checks. docs/testing.md.

plugin.py   pytest's hooks; it imports nothing of tidy until a test asks for it
session.py  what a test recorded, and what is asserted of it

`tidy.testing.TidyFixture` is what the fixture `tidy` gives, for annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import TidyFixture

__all__ = ["TidyFixture"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .session import TidyFixture

    return TidyFixture


def __dir__() -> list[str]:
    return __all__
