"""Whether a Dask cluster is there: its address, its scheduler's answers, and its workers.

A scheduler that is frozen (a process that was stopped, a machine that swaps) keeps its connections
and takes new ones, and Dask waits for its answers without limit. One that has much to do may take
minutes for an answer.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Any

from ..errors import UsageError

_TIMEOUTS = ("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp")
_SILENCE = "distributed.scheduler.worker-ttl"  # after which a scheduler takes a worker for dead
_SILENCE_S = 300.0  # if that is set to be no limit
_ASKS_EACH_S = 1.0  # for the workers, meanwhile


class ClusterState:
    """Knows whether a cluster still has workers.

    One that starts workers when there are calls may have none at first, for as long as it takes.
    The scheduler is asked one question at a time, and has as long for its answer as it gives its
    workers for a sign of life.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._why = client, ""
        self._asked: Future[int] | None = None
        self._asked_s, self._had_any = 0.0, False
        self._looked_s, self._silent_s = time.monotonic(), 0.0
        self._lacks_since_s: float | None = None

    def why_gone(self) -> str:
        """Say why there are none any more; "" if there are. It asks once in a while."""
        if self._why:
            return self._why
        # A client that finds its scheduler again finds none of its calls there.
        if self._client.status != "running":
            self._why = "its scheduler no longer answers"
            return self._why
        now_s = time.monotonic()
        # What is longer between two looks is time in which this process was stopped itself.
        passed_s = min(now_s - self._looked_s, patience_s() + _ASKS_EACH_S)
        self._looked_s = now_s
        if self._asked is None:
            if now_s - self._asked_s >= _ASKS_EACH_S:
                self._ask(now_s)
        elif not self._asked.done():
            self._wait(passed_s)
        else:
            self._hear(self._asked, now_s, passed_s)
            self._asked = None
        return self._why

    def leave(self) -> None:
        """Wait for no answer any more."""
        if self._asked is not None:
            self._asked.cancel()

    def _ask(self, now_s: float) -> None:
        async def count() -> int:
            return len(await self._client.scheduler.ncores(workers=None))

        self._asked_s = now_s
        self._asked = asyncio.run_coroutine_threadsafe(count(), self._client.loop.asyncio_loop)

    def _hear(self, asked: Future[int], now_s: float, passed_s: float) -> None:
        if asked.cancelled() or asked.exception() is not None:  # it cannot be connected to
            self._wait(passed_s)
            return
        self._silent_s = 0.0
        if asked.result():
            self._had_any, self._lacks_since_s = True, None
        elif self._lacks_since_s is None:
            self._lacks_since_s = now_s
        elif self._had_any and now_s - self._lacks_since_s > patience_s():
            self._why = f"it has had no worker for {patience_s():.0f} s"

    def _wait(self, passed_s: float) -> None:
        self._silent_s += passed_s
        if self._silent_s > _most_silent_s():
            self._why = f"its scheduler has not answered for {_most_silent_s():.0f} s"


def check_address(scheduler: str) -> None:
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


def check_answer(scheduler: str) -> None:
    """Connect once: a client waits without limit for one that takes connections and says nothing.

    Raises:
        OSError: it cannot be connected to, or does not answer.
    """
    from distributed import Security
    from distributed.comm import connect

    async def greet() -> None:
        comm = await connect(scheduler, **Security().get_connection_args("client"))
        comm.abort()

    patience = patience_s()
    try:
        # A moment longer than Dask waits itself, which says more of what is wrong.
        asyncio.run(asyncio.wait_for(greet(), patience + 1))
    except asyncio.TimeoutError as error:
        longer = f"is it stopped? Dask's setting {_TIMEOUTS[0]} allows more"
        raise OSError(f"it has not answered for {patience:.0f} s; {longer}") from error


def check_settings(option: str) -> None:
    """Look at how long Dask is to wait, which it reads when a connection is half-made.

    Raises:
        UsageError: a setting is no time.
    """
    import dask.config

    name = ""
    try:
        for name in (*_TIMEOUTS, _SILENCE):
            if _seconds(name) is None and name in _TIMEOUTS:
                raise ValueError(name)  # for which Dask itself has to have a limit
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        problem = f"Dask's setting {name} is no time: {dask.config.get(name)!r}"
        raise UsageError(f"{option}: {problem}") from error


def patience_s() -> float:
    """Return for how long Dask waits for the other side of a connection."""
    seconds = _seconds(_TIMEOUTS[0])
    assert seconds is not None  # see `check_settings`
    return seconds


def _most_silent_s() -> float:
    """Return how long a scheduler may take to answer: one that does much may take minutes."""
    silence_s = _seconds(_SILENCE)
    return _SILENCE_S if silence_s is None else max(silence_s, patience_s())


def _seconds(setting: str) -> float | None:
    """Return a time that Dask's configuration has; None where it is set to be no limit."""
    import dask.config
    from dask.utils import parse_timedelta

    value = dask.config.get(setting)
    return None if value is None else float(parse_timedelta(value))
