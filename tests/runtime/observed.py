"""What an observer sees of a call, and what it raises, so that two libraries can be compared."""

from __future__ import annotations

from collections.abc import Callable

from tidy.runtime.observe.callbacks import add_callback


def names_in(call: Callable[[], object]) -> list[str]:
    """The names of operators, nodes and ranges, in the order in which they begin."""
    seen: list[str] = []
    with add_callback(lambda record: seen.append(record.name)):
        call()
    return seen


def raised(call: Callable[[], object]) -> str:
    """The name of the class, or "nothing"."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"
