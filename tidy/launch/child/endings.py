"""The ways a process can end, and a call from the main thread."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_WAIT_S = 15.0  # how long a thread that calls os._exit waits for the thread that records
_terminating = False
_kept: list[Any] = []  # what C code holds on to


def install(recorder: Any) -> None:
    """Let the recorder end before the process does, however that happens."""
    atexit.register(recorder.end)
    pid = os.getpid()

    def before(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if os.getpid() == pid:
                recorder.end_from_elsewhere(_WAIT_S)
            return real(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = real.__doc__
        setattr(os, name, call)

    for name in ("_exit", "abort", "execv", "execve"):
        if hasattr(os, name):
            before(name)
    _end_on_sigterm(recorder)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.leave)


def _end_on_sigterm(recorder: Any) -> None:
    """Die of SIGTERM as without us, but later; a script that handles it goes first."""
    is_main = threading.current_thread() is threading.main_thread()
    if os.name == "nt" or not is_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return

    def die(number: int, frame: Any) -> None:
        global _terminating
        if recorder.busy:
            _terminating = True
            return
        recorder.end()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def in_fork() -> None:
        if signal.getsignal(signal.SIGTERM) is die:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, die)
    os.register_at_fork(after_in_child=in_fork)


def signals_now() -> None:
    """Take the signal that came while the recorder was busy."""
    global _terminating
    if _terminating:
        _terminating = False
        os.kill(os.getpid(), signal.SIGTERM)


def call_in_main_thread(function: Callable[[], None]) -> None:
    """Have the main thread call a function, soon, between two of its bytecodes."""
    import ctypes

    def call(_: Any) -> int:
        with suppress(SystemExit):  # comes again at the next step, where it can be raised
            function()
        return 0

    callback = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(call)
    _kept[:] = [*_kept[-8:], callback]
    ctypes.pythonapi.Py_AddPendingCall(callback, None)


def call_every(seconds: float, function: Callable[[], None]) -> None:
    """Call from a thread that the script's `threading` does not see.

    It is gone while the process forks: Python warns of a fork that has threads beside it.
    """
    clock = _Clock(seconds, function)
    clock.start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=clock.stop, after_in_parent=clock.start)


class _Clock:
    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self._seconds, self._function = seconds, function

    def start(self) -> None:
        self._wake, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._wake.acquire()
        self._ended.acquire()
        _thread.start_new_thread(self._run, (self._wake, self._ended))

    def stop(self) -> None:
        """Come back when the thread is gone, or is busy for longer than a second."""
        self._wake.release()
        if self._ended.acquire(timeout=1):
            time.sleep(0.001)  # from the end of its Python code to that of the thread

    def _run(self, wake: Any, ended: Any) -> None:
        try:
            while not wake.acquire(timeout=self._seconds) and not sys.is_finalizing():
                self._function()
        finally:
            ended.release()
