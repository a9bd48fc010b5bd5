"""The same calls on the workers of a Dask cluster, which may be other machines.

Dask itself starts a call anew if its worker dies, on another one, and gives up after some deaths.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from operator import itemgetter
from typing import Any

from ..errors import UsageError
from ..readers.workers import without_interrupts
from .pool import Answer, FileCall, LostCall, Watch, answer_of, in_a_line

_TIMEOUTS = ("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp")
_MOST_DEATHS = 1  # of workers by one file, before it is given up


class DaskPool:
    """The workers of a cluster; use it as a context manager.

    Args:
        scheduler: its address; None to start a cluster of processes on this machine.
        count: how many processes such a cluster has; None for one a processor.

    Raises:
        UsageError: Dask is not installed, the scheduler cannot be reached, or no cluster starts.
    """

    def __init__(self, scheduler: str | None = None, count: int | None = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            what = "--dask and --scheduler need Dask; run: pip install 'torchtidy[dask]'"
            raise UsageError(what) from error
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # problems are our lines
        self._scheduler, self._count = scheduler, count
        self._client: Any = None
        self._left = dict[str, Any]()  # futures of what calls left, by path
        self._opened = ExitStack()

    def __enter__(self) -> DaskPool:
        """Start the cluster if it is ours, and connect to it; an interrupted start is undone."""
        _check_settings("--dask" if self._scheduler is None else f"--scheduler {self._scheduler}")
        with ExitStack() as opened:
            if self._scheduler is None:
                self._client = _connect(_start_cluster(self._count, opened))
            else:
                try:
                    _check_address(self._scheduler)
                    self._client = _connect(self._scheduler)
                except (OSError, ValueError) as error:
                    problem = f"cannot be reached: {in_a_line(error)}"
                    raise UsageError(f"--scheduler {self._scheduler}: {problem}") from error
            opened.callback(self._client.close)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._left.clear()
        self._opened.close()

    def run(self, calls: Sequence[FileCall], watch: Watch) -> Iterator[Answer]:
        """Have workers call the functions."""
        from distributed import as_completed

        number_of = {self._submit(call): number for number, call in enumerate(calls)}
        lost = list[int]()
        watch([])
        for future in as_completed(list(number_of), loop=self._client.loop):
            number = number_of.pop(future)
            if future.status == "error":
                lost.append(number)
            else:
                yield number, _answer_of(future)
            watch([])
        # Dask counts the death of a worker against all that waited there for their turn. Alone each
        # is given up for what it does itself.
        for number in lost:
            self._left.pop(calls[number].path, None)
            yield number, _answer_of(self._submit(calls[number]))
            watch([])

    def _submit(self, call: FileCall) -> Any:
        # For no certain worker: if that one dies, Dask leaves a call with none for ever, although
        # others are allowed. By itself it prefers the one that has what the call before left, or
        # takes that to another, and does the call before again if it is lost.
        both = self._client.submit(_apply, self._left.pop(call.path, None), call, pure=False)
        self._left[call.path] = self._client.submit(itemgetter(1), both, pure=False)
        return self._client.submit(itemgetter(0), both, pure=False)


def _start_cluster(count: int | None, opened: ExitStack) -> Any:
    """Start processes on this machine, which end with `opened`.

    Another thread starts them: this one may be interrupted meanwhile, and half a cluster cannot be
    closed, so that it then waits for the whole one. What a thread starts has its signals.
    """
    from concurrent.futures import ThreadPoolExecutor
    from multiprocessing import resource_tracker

    import dask
    from distributed import LocalCluster

    starter = opened.enter_context(ThreadPoolExecutor(1))
    if os.name == "posix":
        resource_tracker.ensure_running()  # whose start would let interrupts through again
    with dask.config.set({"distributed.scheduler.allowed-failures": _MOST_DEATHS}):
        with without_interrupts():
            starting = starter.submit(
                LocalCluster,
                n_workers=count,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
            opened.callback(lambda: starting.exception() or starting.result().close())
        try:
            return starting.result()
        except Exception as error:  # whatever a system refuses to Dask's processes and sockets
            raise UsageError(f"--dask: no cluster starts: {in_a_line(error)}") from error


def _check_settings(option: str) -> None:
    """Look at how long Dask is to wait, which it reads when a connection is half-made.

    Raises:
        UsageError: a setting is no time.
    """
    import dask.config
    from dask.utils import parse_timedelta

    for name in _TIMEOUTS:
        value = dask.config.get(name)
        try:
            parse_timedelta(value)
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            problem = f"Dask's setting {name} is no time: {value!r}"
            raise UsageError(f"{option}: {problem}") from error


def _check_address(scheduler: str) -> None:
    """Look at an address before a client is made, which hangs when it is closed half-made.

    Raises:
        OSError: no machine has this name.
        ValueError: it is no address of a kind that Dask knows.
    """
    from distributed.comm import resolve_address

    try:
        resolve_address(scheduler)
    except FutureWarning as error:  # of a kind that Dask no longer knows
        raise ValueError(*error.args) from error


def _connect(cluster: Any) -> Any:
    from distributed import Client

    # It waits as long as Dask's configuration says: comm.timeouts.connect, by default 30 s.
    return Client(cluster, set_as_default=False)


def _answer_of(future: Any) -> Any:
    try:
        return pickle.loads(future.result())  # noqa: S301 - what our own function gave
    except Exception as error:  # KilledWorker, and what the cluster itself raises
        return LostCall(f"the processes that read it failed: {in_a_line(error)}")


def _apply(before: Any, call: FileCall) -> tuple[bytes, Any]:
    """Return the answer of a call, and what it leaves; it runs in a worker."""
    left = {} if before is None else {call.path: before}
    # Dask's own way of packing has no place for columns beside a trace.
    return pickle.dumps(answer_of(call, left), 5), left.get(call.path)
