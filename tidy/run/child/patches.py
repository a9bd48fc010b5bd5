"""Functions of a framework that something of ours is called before, until it is undone.

A function of Python's around the real one would be in the tracebacks of what that raises. So what
stands in its place is asked for what to call, calls ours first, and gives the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Called:
    """What is called. For a method it is made at each call, so there is not much of it."""

    __slots__ = ("_first", "_instance", "_real")

    def __init__(self, real: Any, first: Callable[[Any], object], instance: Any = None) -> None:
        self._real, self._first, self._instance = real, first, instance

    @property
    def __call__(self) -> Any:
        self._first(self._instance)
        return self._real

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_real"), name)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(self._real)

    def __repr__(self) -> str:
        return repr(self._real)


class Preceded(_Called):
    """A function that something of ours is called before, with None."""

    def __init__(self, real: Any, first: Callable[[Any], object]) -> None:
        super().__init__(real, first)
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__text_signature__"):
            setattr(self, name, getattr(real, name, None))

    def __reduce__(self) -> str:
        return str(self._real.__name__)


class PrecededMethod(Preceded):
    """A method of a class; what is called before it gets the instance.

    Called by the class, `Base.__init__(self)`, it is the real one alone: whose call that is is not
    known before its arguments are.
    """

    @property
    def __call__(self) -> Any:
        return self._real

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return _Called(self._real.__get__(instance, owner), self._first, instance)


class Patches:
    """What was put in the place of functions, by whom it belongs to and its name there."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def call_first(self, owner: Any, name: str, first: Callable[[Any], object]) -> None:
        """Have `first` called before `owner.name`, with the instance of a class or with None."""
        real = getattr(owner, name)
        ours = (PrecededMethod if isinstance(owner, type) else Preceded)(real, first)
        if not isinstance(owner, type):
            ours.__module__ = owner.__name__  # where pickle finds it; it may be defined elsewhere
        setattr(owner, name, ours)
        self._done.append((owner, name, ours, real))

    def undo(self) -> None:
        """Put back what was there; what somebody else has patched since then stays patched."""
        while self._done:
            owner, name, ours, real = self._done.pop()
            if vars(owner).get(name) is ours:
                setattr(owner, name, real)
