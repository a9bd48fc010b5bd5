"""Ranges of the user's own: `with record_function("name"):`."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any

from .arrangement import active
from .callbacks import Running, begin, end
from .record import RecordScope

if TYPE_CHECKING:
    from concurrent.futures import Future


class record_function(ContextDecorator):
    """`with record_function("name"):` shows a range of the user's own to the observers.

    As a decorator it is a range around each call. A range over something asynchronous is entered
    and then handed its future: `_call_end_callbacks_on_future(future)` ends it when that is done.
    """

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

    def _call_end_callbacks_on_future(self, future: Future[Any]) -> Future[Any]:
        """End the range when `future` is done, in place of `__exit__`; a future that says so.

        Source: torch/autograd/profiler.py.
        """
        running, self._running[-1:] = self._running[-1], [[]]
        ended: Future[Any] = type(future)()

        def finish(done: Future[Any]) -> None:
            end(running)
            if (error := done.exception()) is not None:
                ended.set_exception(error)
            else:
                ended.set_result(done.result())

        future.add_done_callback(finish)
        return ended
