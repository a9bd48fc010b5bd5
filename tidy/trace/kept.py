"""Evidence that several rules and the account ask a trace for, made once and kept on it.

What is kept refers to rows, not to events: an event holds its trace, which then would hold itself,
and its memory would not be given back when the last report on it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

import numpy as np

from .event_table import EventTable
from .trace import Trace

P = ParamSpec("P")
T = TypeVar("T")
Table = TypeVar("Table", bound=EventTable)


def kept(make: Callable[Concatenate[Table, P], T]) -> Callable[Concatenate[Table, P], T]:
    """What a function says of the events of a trace, whatever its window; made once for a trace."""

    @wraps(make)
    def give(trace: Table, /, *args: P.args, **kwargs: P.kwargs) -> T:
        known: dict[object, object] = trace.__dict__.setdefault("_kept", {})
        key = make, args, *kwargs.items()
        if key not in known:
            known[key] = _fixed(make(trace, *args, **kwargs))
        return cast("T", known[key])

    return give


def _fixed(made: T) -> T:
    """What was made; nobody who is given it can write to it."""
    if isinstance(made, np.ndarray):
        made.setflags(write=False)
    return made


def kept_of_window(make: Callable[Concatenate[Trace, P], T]) -> Callable[Concatenate[Trace, P], T]:
    """The same of what a function says of the window of a trace; made anew for another window."""

    @wraps(make)
    def give(trace: Trace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        known: dict[object, tuple[object, object]] = trace.__dict__.setdefault(
            "_kept_of_window", {}
        )
        key = make, args, *kwargs.items()
        window, found = known.get(key, (None, None))
        if window is not trace.window:
            found = _fixed(make(trace, *args, **kwargs))
            known[key] = trace.window, found
        return cast("T", found)

    return give
