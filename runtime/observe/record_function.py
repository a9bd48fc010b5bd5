"""Ranges of the user's own: `with record_function("name"):`."""

from __future__ import annotations

from contextlib import ContextDecorator

from .arrangement import active
from .callbacks import Running, begin, end
from .record import RecordScope


class record_function(ContextDecorator):
    """`with record_function("name"):` shows a range of the user's own to the observers."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args, self._running = name, args, list[Running]()

    def __enter__(self) -> record_function:
        inputs = () if self.args is None else (self.args,)
        self._running.append(begin(self.name, RecordScope.USER_SCOPE, inputs) if active else [])
        return self

    def __exit__(self, *exc: object) -> None:
        end(self._running.pop())

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)
