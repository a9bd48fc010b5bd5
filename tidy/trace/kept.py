"""Evidence that several rules and the account ask a trace for, made once and kept on it.

What is kept refers to rows, not to events: an event holds its trace, which then would hold itself,
and its memory would not be given back when the last report on it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from .event_table import EventTable
from .trace import Trace

P = ParamSpec("P")
T = TypeVar("T")
Table = TypeVar("Table", bound=EventTable)


def kept(make: Callable[Concatenate[Table, P], T]) -> Callable[Concatenate[Table, P], T]:
    """Cache what a function says of the events of a trace, whatever its window."""
    return _kept_for(lambda _: None, make)


def kept_of_window(make: Callable[Concatenate[Trace, P], T]) -> Callable[Concatenate[Trace, P], T]:
    """Cache what a function says of the window of a trace; it is called again for another
    window.
    """
    return _kept_for(lambda trace: trace.window, make)


def _kept_for(
    state_of: Callable[[Table], object], make: Callable[Concatenate[Table, P], T]
) -> Callable[Concatenate[Table, P], T]:
    """What a function says, made anew where the trace is in another state."""

    @wraps(make)
    def give(trace: Table, /, *args: P.args, **kwargs: P.kwargs) -> T:
        known: dict[object, tuple[object, T]] = trace.__dict__.setdefault("_kept", {})
        key: object = (make, args, *kwargs.items()) if args or kwargs else make
        state, found = state_of(trace), known.get(key)
        if found is None or found[0] is not state:
            made = make(trace, *args, **kwargs)
            if isinstance(made, np.ndarray):
                made.setflags(write=False)  # many are given it
            found = known[key] = state, made
        return found[1]

    return give
