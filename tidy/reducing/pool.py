"""Worker processes that take a file at a time, so that no more are read at once than there are.

What a worker was sent and did not give back when it died is said to be lost, and another one is
started in its place. Workers end with the pool, and if this process is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol

from ..readers.workers import (
    GONE,
    LOOKS_EACH_S,
    NO_THREAD,
    Worker,
    best_method,
    receive,
    send,
    without_interrupts,
)

_LONGEST = 300  # of what is said of an error
_MOST_TRIES = 3
_MOST_ON_WINDOWS = 60  # `wait` takes no more than 63 pipes there


@dataclass(frozen=True, slots=True)
class FileCall:
    """A call of a function of a module on a file, with what can be pickled.

    Attributes:
        path: the file.
        function: takes what the call before on this file left, None if it left nothing or that is
            lost, and then the arguments. It returns its answer and what it leaves; a pool drops
            what is left last when it ends.
    """

    path: str
    function: Callable[..., tuple[Any, Any]]
    arguments: tuple[Any, ...]

    def apply(self, left: dict[str, Any]) -> Any:
        """Call the function on what is left by path, and return the answer."""
        answer, leaves = self.function(left.pop(self.path, None), *self.arguments)
        if leaves is not None:
            left[self.path] = leaves
        return answer


@dataclass(frozen=True, slots=True)
class LostCall:
    """Stands for the answer of a worker that died, or whose function raised.

    Attributes:
        why: in words.
        traceback: of what the function raised; "" if it did not.
        is_of_cluster: whether no worker is left, which is no fault of the file.
    """

    why: str
    traceback: str = ""
    is_of_cluster: bool = False


Answer = tuple[int, Any]  # the number of a call, and its answer
Watch = Callable[[Sequence[int]], None]  # is called with the numbers of the calls under way


class Pool(Protocol):
    """What calls functions on files."""

    def run(self, calls: Sequence[FileCall], watch: Watch) -> Iterator[Answer]:
        """Yield the answers as they come; `watch` is called now and then meanwhile."""
        ...


class Here:
    """The process that asks, alone."""

    def __init__(self) -> None:
        self._left = dict[str, Any]()

    def hold(self, left: Mapping[str, Any]) -> None:
        """Take what calls before would have left, by path."""
        self._left |= left

    def run(self, calls: Sequence[FileCall], watch: Watch) -> Iterator[Answer]:
        """Call one after the other."""
        for number, call in enumerate(calls):
            watch([number])
            yield number, answer_of(call, self._left)


class FilePool:
    """Some worker processes; use it as a context manager.

    Args:
        count: how many at most; on Windows never more than 60.
        method: "fork" or "spawn"; None for what is quick and safe here.
    """

    def __init__(self, count: int, method: str | None = None) -> None:
        self._method = method
        self._workers: dict[int, Worker] = {}
        # The worker of the last call by path, which has what it left.
        self._asked = dict[str, int]()
        self._here = Here()
        self._next, self._folder = 0, Path.cwd()
        with suppress(OSError):
            for _ in range(min(count, _MOST_ON_WINDOWS) if sys.platform == "win32" else count):
                self._start()

    def __enter__(self) -> FilePool:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, whatever they do."""
        workers = [*self._workers.values()]
        self._workers.clear()
        for each in workers:
            each.pipe.close()
        for each in workers:
            each.process.terminate()
        for each in workers:
            each.end()

    def run(self, calls: Sequence[FileCall], watch: Watch) -> Iterator[Answer]:
        """Have workers call the functions; without any worker left this process does it."""
        left = deque(enumerate(calls))
        under_way: dict[int, int] = {}
        tries = 0
        while left or under_way:
            self._hand_out(left, under_way)
            tries = 0 if under_way else tries + 1
            if self._workers and 0 < tries < _MOST_TRIES:  # all had died, and others were started
                continue
            if not under_way:
                numbers = [number for number, _ in left]
                for at, answer in self._here.run([call for _, call in left], lambda _: None):
                    yield numbers[at], answer
                return
            watch([*under_way.values()])
            by_pipe: dict[Any, int] = {self._workers[each].pipe: each for each in under_way}
            ready = wait(list(by_pipe), LOOKS_EACH_S)
            for pipe in ready:
                worker = by_pipe[pipe]
                number = under_way.pop(worker)
                try:
                    is_done, result = receive(self._workers[worker].pipe)
                except (*GONE, pickle.UnpicklingError):
                    why = self._replace(worker)
                    if why is None:
                        left.appendleft((number, calls[number]))
                        continue
                    is_done, result = True, LostCall(why)
                yield number, result if is_done else LostCall("what it gave cannot be sent")
            if not ready:
                for worker in [each for each in under_way if self._workers[each].is_stopped()]:
                    number = under_way.pop(worker)
                    left.appendleft((number, calls[number]))
                    self._workers[worker].process.kill()
                    self._replace(worker)

    def _hand_out(self, left: deque[tuple[int, FileCall]], under_way: dict[int, int]) -> None:
        """Give each idle worker a call, if there is one that no other worker is asked for."""
        for worker in [*self._workers]:
            if worker in under_way:
                continue
            for at, (number, call) in enumerate(left):
                asked = self._asked.get(call.path)
                if asked in (None, worker) or asked not in self._workers:
                    del left[at]
                    try:
                        send(self._workers[worker].pipe, (_apply, (str(self._folder), call)))
                        under_way[worker], self._asked[call.path] = number, worker
                    except GONE:
                        self._replace(worker)
                        left.insert(at, (number, call))
                    break

    def _start(self) -> None:
        # One that takes the place of another may start beside the thread of a progress bar.
        context = multiprocessing.get_context(self._method or best_method())
        with without_interrupts():
            self._workers[self._next] = Worker(context, [*self._workers.values()], [])
        self._next += 1

    def _replace(self, worker: int) -> str | None:
        """Start another worker in place of one that died.

        Returns:
            What it died of, in words; None if it could do nothing, as another one could not.
        """
        dead = self._workers.pop(worker)
        dead.pipe.close()
        dead.process.join(LOOKS_EACH_S)
        code = dead.process.exitcode
        dead.end()
        if code == NO_THREAD:
            return None
        with suppress(OSError):
            self._start()
        killed = f" by signal {-code}" if code is not None and code < 0 else ""
        return f"the process that read it was ended{killed}; is there enough memory?"


# In a worker, which is of one pool: what calls left, by path.
_left: dict[str, Any] = {}


def _apply(given: tuple[str, FileCall]) -> Any:
    """Call a function in the folder in which this process would; it runs in a worker."""
    folder, call = given
    if str(Path.cwd()) != folder:
        os.chdir(folder)
    return answer_of(call, _left)


def answer_of(call: FileCall, left: dict[str, Any]) -> Any:
    """Return the answer of a call, or `LostCall` if it raises."""
    try:
        return call.apply(left)
    except Exception as error:
        said = "".join(traceback.format_exception(error))
        return LostCall(f"the process that read it failed: {in_a_line(error)}", said)


def in_a_line(error: BaseException) -> str:
    """Return an error of any kind, on one line that is not long."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
