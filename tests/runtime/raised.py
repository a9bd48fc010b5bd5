"""What a call raises, so that two libraries can be compared."""

from __future__ import annotations

from collections.abc import Callable


def raised(call: Callable[[], object]) -> str:
    """The name of the class, or "nothing"."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"
