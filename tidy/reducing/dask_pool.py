"""The same calls on the workers of a Dask cluster, which may be other machines.

Dask itself starts a call anew if its worker dies, on another one, and gives up after some deaths.
What it does not end is a call for which no worker is left, so that is looked at here.
"""

from __future__ import annotations

import logging
import os
import pickle
import time
from asyncio import TimeoutError as TooLong  # in Python 3.10 no TimeoutError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..readers.urls import is_url
from ..readers.workers import without_interrupts
from .cluster_state import ClusterState, check_address, check_answer, check_settings, patience_s
from .pool import Answer, FileCall, Here, LostCall, Watch, answer_of, in_a_line

_MOST_DEATHS = 1  # of workers by one file, before it is given up
_LOOKS_EACH_S = 0.02  # for answers, while none comes


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
        for name in ("distributed", "distributed.client"):  # problems are our lines
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._scheduler, self._count = scheduler, count
        self._client: Any = None
        self._left = dict[str, Any]()  # futures of what calls left, by path
        self._read = set[str]()  # the paths of files that workers read
        self._here = Here()
        self._state: ClusterState | None = None
        self._opened = ExitStack()

    def __enter__(self) -> DaskPool:
        """Start the cluster if it is ours, and connect to it; an interrupted start is undone."""
        check_settings("--dask" if self._scheduler is None else f"--scheduler {self._scheduler}")
        with ExitStack() as opened:
            if self._scheduler is None:
                self._client = _connect(_start_cluster(self._count, opened))
            else:
                try:
                    check_address(self._scheduler)
                    check_answer(self._scheduler)
                    self._client = _connect(self._scheduler)
                except (OSError, TooLong, ValueError) as error:
                    problem = f"cannot be reached: {in_a_line(error)}"
                    raise UsageError(f"--scheduler {self._scheduler}: {problem}") from error
            opened.callback(self._leave)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._left.clear()
        self._opened.close()

    def _leave(self) -> None:
        """Close the connection; what a frozen scheduler does not take is left behind."""
        if self._state is not None:
            self._state.leave()
        with suppress(TooLong):
            self._client.close()

    def run(self, calls: Sequence[FileCall], watch: Watch) -> Iterator[Answer]:
        """Have workers call the functions.

        If the cluster is lost, this process does what is left to do of files that were read and
        are on this machine.
        """
        lost, left = list[int](), dict(enumerate(calls))
        watch([])
        for number, future in self._futures(left):
            if future.status != "finished":
                lost.append(number)
            else:
                yield from self._taken(number, future, left, watch)
        # Dask counts the death of a worker against all that waited there for their turn. Alone each
        # is given up for what it does itself.
        for number in lost:
            self._left.pop(calls[number].path, None)
            for _, future in self._futures({number: calls[number]}):
                yield from self._taken(number, future, left, watch)
        for number, call in left.items():
            if call.path not in self._read or not _is_here(call.path):
                yield number, LostCall(self._gone(), is_of_cluster=True)
                continue
            watch([number])
            for _, answer in self._here.run([call], lambda _: None):
                yield number, answer
                watch([])

    def _taken(
        self, number: int, future: Any, left: dict[int, FileCall], watch: Watch
    ) -> Iterator[Answer]:
        """Yield the answer of a call and take it off what is left; none if the cluster is lost."""
        for answer in self._answers_of(future):
            path = left.pop(number).path
            if not isinstance(answer, LostCall):  # what ended workers is not read here
                self._read.add(path)
            yield number, answer
            watch([])

    def _futures(self, calls: Mapping[int, FileCall]) -> Iterator[tuple[int, Any]]:
        """Yield the futures of calls as they are done, until the cluster is lost."""
        from distributed import as_completed

        if self._gone():
            return
        number_of = {self._submit(call): number for number, call in calls.items()}
        done = as_completed(list(number_of), loop=self._client.loop)
        while number_of and not self._gone():
            batch = done.next_batch(block=False)
            for future in batch:
                yield number_of.pop(future), future
            if not batch:
                time.sleep(_LOOKS_EACH_S)

    def _answers_of(self, future: Any) -> list[Any]:
        """Return what a call gave, or `LostCall` if it died; nothing if the cluster is lost."""
        until_s = time.monotonic() + patience_s()
        while not self._gone():
            # If the worker that has it dies it is called anew, for which one has to be left.
            with suppress(TooLong):
                return self._result_of(future, asks_again=time.monotonic() < until_s)
        return []

    def _result_of(self, future: Any, asks_again: bool) -> list[Any]:
        try:
            return [pickle.loads(future.result(patience_s()))]  # noqa: S301 - our own function's
        except TooLong:
            raise
        except Exception as error:  # KilledWorker, and what the cluster itself raises
            # Of a connection that breaks it shows a moment later whether the scheduler is lost.
            if isinstance(error, OSError) and asks_again and future.status != "error":
                time.sleep(_LOOKS_EACH_S)
                raise TooLong from error
            if self._gone():
                return []
            return [LostCall(f"the processes that read it failed: {in_a_line(error)}")]

    def _gone(self) -> str:
        """Say why the cluster is lost; "" if it is not."""
        if self._state is None:
            self._state = ClusterState(self._client)
        return self._state.why_gone()

    def _submit(self, call: FileCall) -> Any:
        # For no certain worker: if that one dies, Dask leaves a call with none for ever, although
        # others are allowed. By itself it prefers the one that has what the call before left, or
        # takes that to another, and does the call before again if it is lost.
        both = self._client.submit(_apply, self._left.pop(call.path, None), call, pure=False)
        self._left[call.path] = self._client.submit(itemgetter(1), both, pure=False)
        return self._client.submit(itemgetter(0), both, pure=False)


def _is_here(path: str) -> bool:
    """Tell whether a file is on this machine; what it takes to open an address workers may have."""
    try:
        return not is_url(path) and Path(path).is_file()
    except (OSError, ValueError):
        return False


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


def _connect(cluster: Any) -> Any:
    from distributed import Client

    # It waits as long as Dask's configuration says: comm.timeouts.connect, by default 30 s.
    return Client(cluster, set_as_default=False)


def _apply(before: Any, call: FileCall) -> tuple[bytes, Any]:
    """Return the answer of a call, and what it leaves; it runs in a worker."""
    left = {} if before is None else {call.path: before}
    # Dask's own way of packing has no place for columns beside a trace.
    return pickle.dumps(answer_of(call, left), 5), left.get(call.path)
