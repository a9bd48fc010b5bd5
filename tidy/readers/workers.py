"""Worker processes that call functions, for what one processor takes long to do.

A worker gets tasks through a pipe and gives results back in order; arrays travel as buffers of
pickle's protocol 5, without a copy in Python. What a worker cannot do, because it died or the
function raised, is done by whoever asks for the result, so that errors arise and read as without
workers. Workers end when their pipe is closed, also if this process is killed.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")

GONE = (EOFError, OSError)  # what a pipe raises whose other end was closed
LOOKS_EACH_S = 0.5  # at the workers, while nothing comes
# The exit code of a worker that did nothing, for want of a thread: EX_TEMPFAIL of <sysexits.h>.
NO_THREAD = 75
_PATIENCE_S = 2.0

# In a worker: what it shares with the process that started it, there `Workers.memory`.
memory_of_worker: list[memoryview] = []


class Task(Generic[A, R]):
    """One call of a function in a worker."""

    def __init__(self, function: Callable[[A], R], argument: A) -> None:
        self._function, self.argument = function, argument
        self._results: list[R] = []
        self.is_over = False  # the worker gave a result, or died

    def finish(self, *results: R) -> None:
        """Take the result, or learn that none will come."""
        self._results, self.is_over = [*results], True

    def result(self) -> R:
        """Return what the function returned; if the worker failed it is called here."""
        return self._results[0] if self._results else self._function(self.argument)


class Worker:
    """A process, and the pipe to it; it shares `arrays` and must not keep pipes of `others`."""

    def __init__(self, context: Any, others: list[Worker], arrays: list[Any]) -> None:
        self.pipe, theirs = context.Pipe()
        # A fork has copies of all pipes; those that stay open keep workers alive.
        is_fork = context.get_start_method() == "fork"
        foreign = [each.pipe for each in others] + [self.pipe] if is_fork else []
        self.process = context.Process(target=_work, args=(theirs, foreign, arrays), daemon=True)
        self.tasks: deque[Task[Any, Any]] = deque()
        self._was_stopped = False
        with _main_module_that_is_there():
            self.process.start()
        theirs.close()

    def is_stopped(self) -> bool:
        """Tell whether a signal has stopped the process, now and when this was asked last.

        Processes that a terminal or a queue stops and continues together do not do so at once.
        """
        was_stopped = self._was_stopped
        if hasattr(os, "waitid"):
            how = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            with suppress(ChildProcessError):
                self._was_stopped = os.waitid(os.P_PID, self.process.pid, how) is not None
        return was_stopped and self._was_stopped

    def lose(self) -> None:
        """Give up a worker that died or was stopped."""
        self.process.kill()
        self.pipe.close()
        while self.tasks:
            self.tasks.popleft().finish()

    def end(self) -> None:
        """End the process, whatever it does; its pipe is closed and it was told to terminate."""
        self.process.join(_PATIENCE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class Workers:
    """Some worker processes; use it as a context manager.

    Args:
        count: how many. There are fewer where the system starts no more.
        method: "fork" or "spawn"; None for what is quick and safe here.
        memory_count, memory_nbytes: how often and how much memory all share.

    Attributes:
        memory: what the workers share with this process, by number.
    """

    def __init__(
        self,
        count: int,
        method: str | None = None,
        memory_count: int = 0,
        memory_nbytes: int = 0,
    ) -> None:
        self._alive: list[Worker] = []
        self._started: list[Worker] = []
        self.memory: list[memoryview] = []
        self._taken = 0
        if multiprocessing.current_process().daemon:  # which may not start any
            return
        context = multiprocessing.get_context(method or best_method())
        arrays: list[mmap.mmap] = []
        # Memory without a file is inherited by a fork alone. Files of shared memory are few in a
        # container, and those of a training beside this process.
        if context.get_start_method() == "fork":
            with suppress(OSError, ValueError):
                arrays += [mmap.mmap(-1, memory_nbytes) for _ in range(memory_count)]
        self.memory = [memoryview(each) for each in arrays]
        with suppress(OSError), without_interrupts():
            for _ in range(count):
                self._started.append(Worker(context, self._started, arrays))
        self._alive += self._started

    def __enter__(self) -> Workers:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, whatever they do."""
        self.close()

    @property
    def count(self) -> int:
        """How many are alive, as far as is known."""
        return len(self._alive)

    @property
    def pids(self) -> list[int]:
        """The process ids of those that are alive."""
        return [each.process.pid for each in self._alive]

    def take_memory(self, nbytes: int) -> int | None:
        """Return the number of the memory that was taken longest ago; None if so much fits
        in none.
        """
        if not self.memory or nbytes > self.memory[0].nbytes:
            return None
        self._taken = (self._taken + 1) % len(self.memory)
        return self._taken

    def submit(self, function: Callable[[A], R], argument: A) -> Task[A, R]:
        """Have a worker call a function of a module, on what can be pickled."""
        task = Task(function, argument)
        if not self._alive:
            task.finish()
            return task
        worker = min(self._alive, key=lambda each: len(each.tasks))
        worker.tasks.append(task)
        try:
            send(worker.pipe, (function, argument))
        except GONE:
            self._lose(worker)
        return task

    def wait_for(self, task: Task[Any, Any]) -> None:
        """Take results until this task is over."""
        while not task.is_over:
            by_pipe = {each.pipe: each for each in self._alive if each.tasks}
            ready = wait(list(by_pipe), LOOKS_EACH_S)
            for pipe in ready:
                worker = by_pipe[pipe]
                try:
                    is_done, result = receive(worker.pipe)
                except (*GONE, pickle.UnpicklingError):
                    self._lose(worker)
                    continue
                worker.tasks.popleft().finish(*[result] if is_done else [])
            if not ready:
                for worker in [each for each in by_pipe.values() if each.is_stopped()]:
                    self._lose(worker)

    def close(self) -> None:
        """End all workers, whatever they do."""
        for each in self._started:
            each.pipe.close()
        for each in self._started:
            each.process.terminate()
        for each in self._started:
            each.end()
        self._started, self._alive = [], []
        self.memory = []

    def _lose(self, worker: Worker) -> None:
        self._alive.remove(worker)
        worker.lose()


def best_method() -> str:
    """Return how to start processes: a fork starts at once, but must not happen beside threads, nor
    on macOS or Windows.
    """
    is_safe = sys.platform == "linux" and threading.active_count() == 1
    return "fork" if is_safe else "spawn"


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Start processes to which Ctrl-C means nothing: who started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _main_module_that_is_there() -> Iterator[None]:
    """Keep a new Python from looking for the file of a script that came from standard input."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or getattr(main, "__spec__", None) is not None or Path(file).exists():
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


def _work(pipe: Connection, foreign: list[Connection], arrays: list[Any]) -> None:
    """Call what the pipe says until it is closed."""
    memory_of_worker[:] = [memoryview(each) for each in arrays]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in foreign:
        each.close()
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # Both sides may have much to send: tasks are taken in while a result waits to be.
    try:
        threading.Thread(target=_take_in, args=(pipe, tasks), daemon=True).start()
    except RuntimeError:  # the system starts no more
        raise SystemExit(NO_THREAD) from None
    with suppress(*GONE):
        while True:
            function, argument = tasks.get()
            try:
                answer = True, function(argument)
            except Exception:  # it is called again where the error can be told
                answer = False, None
            send(pipe, answer)


def _take_in(pipe: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            tasks.put(receive(pipe))
    except BaseException:  # nobody is left who would take what this process still works on
        os.kill(os.getpid(), signal.SIGTERM)


def send(pipe: Connection, what: object) -> None:
    """Send what can be pickled."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(what, protocol=5, buffer_callback=buffers.append)
    parts = [each.raw() for each in buffers]
    pipe.send_bytes(pickle.dumps([part.nbytes for part in parts]))
    pipe.send_bytes(data)
    for part in parts:
        if part.nbytes:
            pipe.send_bytes(part)


def receive(pipe: Connection) -> Any:
    """Take what was sent; raises one of `GONE` where the other end was closed."""
    sizes = pickle.loads(pipe.recv_bytes())  # noqa: S301 - what we sent ourselves
    data = pipe.recv_bytes()
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        if buffer:
            pipe.recv_bytes_into(buffer)
    return pickle.loads(data, buffers=buffers)  # noqa: S301 - as above
