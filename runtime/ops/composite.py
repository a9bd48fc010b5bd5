"""Operators made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record_function import active
from .table import Call, interpose


def composite(name: str) -> Callable[[Call], Call]:
    """An operator made of others: observers see it around them. Its graph is theirs."""

    def decorate(function: Call) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            if active:
                return interpose(name, function, args, kwargs)
            return function(*args, **kwargs)

        call.__name__ = call.__qualname__ = function.__name__
        call.__doc__ = function.__doc__
        return call

    return decorate
