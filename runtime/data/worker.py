"""The other process: makes the batches that a DataLoader asks for.

    parent  --(epoch, number, keys)-->                  worker_loop
    parent  <--(epoch, number, kind, times), pickled batch--   _write  <- outbox <-

The worker takes all keys there are before it makes a batch, and a thread sends those made: so
neither side waits for the other to listen. Every worker has pipes of its own: one that is killed
while it writes spoils nothing else.

Source: torch/utils/data/_utils/worker.py, fetch.py.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..observe.arrangement import forget_all
from ..observe.worker_batches import FetchWatcher
from ..ops.creation import manual_seed
from .dataset import look_up

DATA, ERROR, END, BROKEN = range(4)  # kinds of answer; the last is given where it is received


class WorkerInfo(NamedTuple):
    """What `get_worker_info` tells; `dataset` is this process's copy."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Tell which worker this process is; None if it is none."""
    return _info


def make_fetch(
    dataset: Any, iterable: bool, batched: bool, collate_fn: Any, drop_last: bool
) -> Callable[[Any], Any]:
    """Return a function from keys to a batch; StopIteration is the end of an iterable dataset."""
    stream = iter(dataset) if iterable else None

    def fetch(keys: Any) -> Any:
        if stream is None:
            return collate_fn(look_up(dataset, keys) if batched else dataset[keys])
        if not batched:
            return collate_fn(next(stream))
        samples = list(islice(stream, len(keys)))
        if not samples or (drop_last and len(samples) < len(keys)):
            raise StopIteration
        return collate_fn(samples)

    return fetch


def worker_loop(
    info: WorkerInfo,
    base_seed: int,
    source: Any,
    init_fn: Any,
    pipes: tuple[Any, Any, Any, Any],
    watchers: Sequence[FetchWatcher],
) -> None:
    """Answer tasks until told to stop. `source` is what make_fetch takes."""
    global _info  # noqa: PLW0603
    import random
    import signal
    from queue import SimpleQueue
    from threading import Thread

    tasks, parents_tasks, parents_results, results = pipes
    parents_tasks.close()  # an end kept open here would hide that the parent is gone
    parents_results.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    forget_all()  # who observes operators does so in the parent
    random.seed(info.seed)
    manual_seed(info.seed)
    np.random.seed(np.random.SeedSequence([info.id, base_seed]).generate_state(4))
    _info = info

    outbox: Any = SimpleQueue()
    Thread(target=_write, args=(results, outbox), daemon=True).start()
    try:
        _answer(tasks, outbox, info, source, init_fn, watchers)
    finally:
        for each in watchers:
            each.close()


def _answer(
    tasks: Any,
    outbox: Any,
    info: WorkerInfo,
    source: Any,
    init_fn: Any,
    watchers: Sequence[FetchWatcher],
) -> None:
    opened = None  # the epoch that `fetch` is for
    for epoch, number, keys in _wanted(tasks):
        begin, before = time.perf_counter_ns(), (*_processor_ns(), _beside_ns())
        try:
            if init_fn is not None:
                init_fn(info.id)
                init_fn = None
            for each in watchers:
                each.begin(_answer.__code__)
            if epoch != opened:
                fetch, opened = make_fetch(*source), epoch
            kind, answer = DATA, pickle.dumps(fetch(keys), 5)
        except StopIteration:
            kind, answer = END, b""
        except Exception as error:
            kind, answer = ERROR, _described(error, info.id)
        end, after = time.perf_counter_ns(), (*_processor_ns(), _beside_ns())
        for each in watchers:
            each.end()
        spent = (max(now - then, 0) for then, now in zip(before, after, strict=True))
        times = begin, end, end - begin, *spent
        outbox.put(((epoch, number, kind, None if kind == END else times), answer))


def _processor_ns() -> tuple[int, int]:
    """How long this thread has had a processor, and how long it waited for one (Linux tells)."""
    try:
        queued = int(_read("thread-self/schedstat").split()[1])
    except (OSError, ValueError, IndexError):
        queued = 0
    return time.thread_time_ns(), queued


def _beside_ns() -> int:
    """How long other threads of this process, and processes that this thread started, have had a
    processor; of processes that still run on Linux alone.
    """
    (_, _, children_s, of_system_s, _), ticks = os.times(), 0
    try:
        for pid in _read("thread-self/children").split():
            with suppress(OSError, ValueError):  # one that has just ended hides no other
                stat = _read(f"{pid.decode()}/stat").rpartition(b")")[2]
                ticks += sum(map(int, stat.split()[11:15]))
        children_s += ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        pass
    threads_ns = time.process_time_ns() - time.thread_time_ns()
    return threads_ns + round(1e9 * (children_s + of_system_s))


def _read(path: str) -> bytes:
    """Read the beginning of a file below /proc."""
    file = os.open(f"/proc/{path}", os.O_RDONLY)
    try:
        return os.read(file, 10_000)
    finally:
        os.close(file)


def _wanted(tasks: Any) -> Iterator[Any]:
    """Tasks of the newest epoch, until the parent says stop (None) or is gone."""
    todo: deque[Any] = deque()
    parent = os.getppid()
    while True:
        try:
            while not todo or tasks.poll():
                while not tasks.poll(5):
                    if os.getppid() != parent:
                        return
                todo.append(tasks.recv())
        except (EOFError, OSError):
            return
        if todo[-1][0] is None:
            return
        if (task := todo.popleft())[0] == (todo or [task])[-1][0]:
            yield task


def _write(results: Any, outbox: Any) -> None:
    with suppress(OSError):  # nobody listens
        while True:
            header, answer = outbox.get()
            results.send(header)
            results.send_bytes(answer)


def _described(error: Exception, worker_id: int) -> bytes:
    """Pickles the class of `error`, and a message with its traceback."""
    from traceback import format_exception

    kind, trace = type(error), "".join(format_exception(error))
    text = f"Caught {kind.__name__} in DataLoader worker process {worker_id}.\nOriginal {trace}"
    try:
        return pickle.dumps((kind, text))
    except Exception:  # the parent could not import the class
        return pickle.dumps((RuntimeError, text))


class _Verbatim(str):
    __slots__ = ()
    __repr__ = str.__str__  # KeyError prints the repr of its argument


def raise_again(kind: type[Exception], text: str) -> None:
    """Raise what `_described` packed, as the same class if that takes one string."""
    try:
        error = kind(_Verbatim(text) if kind is KeyError else text)
    except Exception:
        error = RuntimeError(text)
    try:
        raise error
    finally:
        del error  # else it and this frame hold each other, and the iterator with its workers
