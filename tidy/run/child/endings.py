"""The ways a process can end, and a call from the main thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from sys import _getframe as getframe
from typing import Any

from .guard import has_room
from .kept import MAIN_THREAD, atexit, is_finalizing, os, signal, thread, time
from .patches import Preceded

# How long a thread that calls os._exit waits for the thread that records, while that does nothing.
_WAIT_S = 15.0
_terminating = False
_to_call: list[Callable[[], None]] = []  # by the main thread
# Has a key unless Python knows that there are some. To take it and to give it back are one step of
# C each, within which no other thread runs.
_unasked = {"ask": False}


def install(recorder: Any) -> None:
    """Let the recorder end before the process does, however that happens."""
    import os as module

    atexit.register(recorder.end)
    for name in ("_exit", "abort", "execv", "execve"):
        if hasattr(module, name):
            setattr(module, name, Preceded(getattr(module, name), recorder.end_from_elsewhere))
    _end_on_sigterm(recorder)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.leave)


def wait_for_end(recorder: Any) -> None:
    """Wait for the thread that records, from another one.

    It may itself wait for something for ever, and is given some seconds. Once it writes it is
    waited for as long as it gets on, however slow a busy machine makes it: its own clock tells,
    since other threads may go on computing while it is stuck. Some systems have no such clock.
    """
    clock = getattr(time, "pthread_getcpuclockid", lambda _: None)(MAIN_THREAD)
    limit, worked_s = time.monotonic() + _WAIT_S, 0.0
    while (recorder.state == "recording" or recorder.busy) and time.monotonic() < limit:
        now_s = 0.0 if clock is None else time.clock_gettime(clock)
        if recorder.busy and now_s > worked_s:
            limit, worked_s = time.monotonic() + _WAIT_S, now_s
        time.sleep(0.01)


def _end_on_sigterm(recorder: Any) -> None:
    """Die of SIGTERM as without us, but later; a script that handles it goes first."""
    is_main = thread.get_ident() == MAIN_THREAD
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


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Hold back the signals that Python handles: what their handlers raise would be lost here.

    Those of SIGTERM that are ours hold it back themselves.
    """
    before: dict[int, Any] = {}
    came: list[int] = []
    is_main = os.name != "nt" and thread.get_ident() == MAIN_THREAD
    for number in range(1, signal.NSIG if is_main else 1):
        handler = signal.getsignal(number)
        # asyncio learns of a signal in another way, and would learn of it twice.
        if callable(handler) and getattr(handler, "__name__", "") != "_sighandler_noop":
            signal.signal(number, lambda number, _: came.append(number))
            before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            thread.start_new_thread(_send, (came,))


def _send(numbers: list[int]) -> None:
    time.sleep(0.02)  # the call that they were held back in is over by then
    for number in numbers:
        os.kill(os.getpid(), number)


def call_in_main_thread(function: Callable[[], None]) -> None:
    """Have the main thread call a function, soon, between two of its bytecodes.

    Where that thread waits for another one (`join()`) soon may be in minutes. The function is
    called once then, however often it was asked for, and what Python calls is there until then.

    It is not where the main thread is deep in calls: at the limit of recursion nothing of ours can
    run, and what cannot run would raise in the script. Before Python 3.12 it is not while others
    are called either: Python 3.11 hangs where a call is added during a pending one and functions
    are profiled, since it looks for calls before each function, does not make one within another,
    and looks again. Both are over soon: ask again.
    """
    import ctypes

    if thread.get_ident() != MAIN_THREAD and _is_deep():
        return
    if function not in _to_call:
        _to_call.append(function)
    if _unasked.pop("ask", True):
        return
    # What asks for the truth of an object is C, and hands on what calling Python raises.
    pending, given = ctypes.pythonapi.PyObject_IsTrue, ctypes.py_object(_pending)
    if ctypes.pythonapi.Py_AddPendingCall(pending, given):  # the interpreter's list is full
        _unasked["ask"] = False


def _is_deep() -> bool:
    """Tell whether the main thread may be in more than half of the calls that it may be in.

    Calls of C count as well, but only those of Python can be seen.
    """
    left = sys.getrecursionlimit() // 2
    frame = sys._current_frames().get(MAIN_THREAD)
    while frame is not None and left > 0:
        frame, left = frame.f_back, left - 1
    return left <= 0


class _Asked:
    """Calls what there is to call when its truth is asked for, and is false."""

    def __bool__(self) -> bool:
        if sys.version_info >= (3, 12):
            _unasked["ask"] = False
        try:
            with suppress(RecursionError):
                if has_room():
                    _call_all()
        except BaseException:  # Ctrl-C: Python makes no other call then before it is back
            _unasked["ask"] = False
            raise
        return False


class _Done:
    """May be asked again from when its truth is asked for, and is false."""

    __bool__ = partial(_unasked.setdefault, "ask", False)


class _AskedAndDone:
    """The two after each other: when the second comes nothing of Python's runs any more."""

    __bool__ = partial(any, (_Asked(), _Done()))


_pending = _Asked() if sys.version_info >= (3, 12) else _AskedAndDone()


def _call_all() -> None:
    functions = _to_call[:]  # what they ask for is called later
    _to_call.clear()
    for function in functions:
        # SystemExit comes again at the next step, where it can be raised.
        with suppress(SystemExit), interrupts_later():
            function()


class Ticker:
    """Calls from a thread that `threading` does not see, until stopped or until that gives False.

    It is gone while the process forks: Python 3.12 and later warn of a fork that has threads
    beside it, and count them only when all that was registered for after the fork has run.
    """

    def __init__(self, seconds: float, function: Callable[[], bool]) -> None:
        self._seconds, self._function = seconds, function
        self._is_stopped = self._is_running = False
        self._pid = os.getpid()
        self._fork: tuple[Any, int] | None = None  # code and instruction that forks
        self.go_on()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_parent=self._after_fork)

    def stop(self) -> None:
        self.pause()
        self._is_stopped = True
        self._function = lambda: False  # it holds on to nothing

    def go_on(self) -> None:
        """Call from now on, unless it is stopped."""
        if self._is_stopped or self._is_running or self._pid != os.getpid():
            return
        self._is_running = True
        self._wake, self._ended = thread.allocate_lock(), thread.allocate_lock()
        self._native_ids: list[int] = []
        self._wake.acquire()
        self._ended.acquire()
        thread.start_new_thread(self._run, (self._wake, self._ended, self._native_ids))

    def pause(self) -> None:
        """Come back when the thread is gone, or is busy for longer than a second."""
        if not self._is_running:
            return
        self._is_running = False
        self._wake.release()
        if self._ended.acquire(timeout=1):
            _wait_for_end_of(self._native_ids[0])

    def _before_fork(self) -> None:
        caller = getframe(1)
        self._fork = caller.f_code, caller.f_lasti
        self.pause()

    def _after_fork(self) -> None:
        if sys.version_info < (3, 12):
            self.go_on()
        elif not self._is_stopped:
            call_in_main_thread(self._go_on_after_fork)

    def _go_on_after_fork(self) -> None:
        """Go on, or ask again as long as functions that were registered run in the fork."""
        called_from = getframe(2).f_back  # the interrupted frame may be the one that has forked
        while called_from is not None:
            if (called_from.f_code, called_from.f_lasti) == self._fork:
                call_in_main_thread(self._go_on_after_fork)
                return
            called_from = called_from.f_back
        self.go_on()

    def _run(self, wake: Any, ended: Any, native_ids: list[int]) -> None:
        native_ids.append(thread.get_native_id())
        try:
            while not wake.acquire(timeout=self._seconds) and not is_finalizing():
                if not self._function():
                    break
        finally:
            ended.release()


def _wait_for_end_of(native_id: int) -> None:
    """Wait, a second at most, until the system, whose threads Python counts, has none with it."""
    if not os.path.isdir("/proc/self/task"):
        time.sleep(0.001)
        return
    limit = time.monotonic() + 1
    while os.path.isdir(f"/proc/self/task/{native_id}") and time.monotonic() < limit:
        time.sleep(0.0002)
