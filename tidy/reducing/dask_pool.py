"""The same calls on the workers of a Dask cluster, which may be other machines.

Dask itself starts a call anew if its worker dies, on another one, and gives up after some deaths.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from ..errors import UsageError
from ..readers.workers import without_interrupts
from .pool import Answer, FileCall, LostCall, Watch, called, in_a_line

_PATIENCE_S = 30
_MOST_DEATHS = 1  # of workers by one file, before it is given up


class DaskPool:
    """The workers of a cluster; use it as a context manager.

    Args:
        scheduler: its address; None to start a cluster of processes on this machine.
        count: how many processes such a cluster has; None for one a processor.

    Raises:
        UsageError: Dask is not installed, or the scheduler cannot be reached.
    """

    def __init__(self, scheduler: str | None = None, count: int | None = None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            what = "--dask and --scheduler need Dask; run: pip install 'torchtidy[dask]'"
            raise UsageError(what) from error
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # problems are our lines
        self._scheduler, self._count = scheduler, count
        self._addresses: list[str] = []
        self._client: Any = None
        self._opened = ExitStack()

    def __enter__(self) -> DaskPool:
        """Start the cluster if it is ours, and connect to it; an interrupted start is undone."""
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
        self._opened.close()

    def run(self, calls: Sequence[FileCall], watch: Watch) -> Iterator[Answer]:
        """Have workers call the functions."""
        from distributed import as_completed

        number_of = {self._submit(call): number for number, call in enumerate(calls)}
        watch([])
        for future in as_completed(list(number_of), loop=self._client.loop):
            number = number_of.pop(future)
            answer, address = _result_of(future)
            if address not in self._addresses:
                self._addresses.append(address)
            yield number, answer, self._addresses.index(address)
            watch([])

    def _submit(self, call: FileCall) -> Any:
        # Not for the worker that has read the file: if that one dies, Dask leaves the call with no
        # worker for ever, although others are allowed. Another one reads the file anew.
        return self._client.submit(_apply, call.function, call.arguments, pure=False)


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
            opened.callback(lambda: starting.result().close())
        return starting.result()


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

    return Client(cluster, timeout=_PATIENCE_S, set_as_default=False)


def _result_of(future: Any) -> tuple[Any, str]:
    try:
        packed, address = future.result()
        return pickle.loads(packed), address  # noqa: S301 - what our own function gave
    except Exception as error:  # KilledWorker, and what the cluster itself raises
        return LostCall(f"the processes that read it failed: {in_a_line(error)}"), ""


def _apply(function: Any, arguments: tuple[Any, ...]) -> tuple[bytes, str]:
    """Call a function, and say where; it runs in a worker."""
    from distributed import get_worker

    # Dask's own way of packing has no place for columns beside a trace.
    return pickle.dumps(called(function, arguments), 5), get_worker().address
