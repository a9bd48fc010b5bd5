"""Python functions: when they began and ended, on every thread.

Modules' calls are known by their names (`nn.Module: Linear_0`). Of tidy's other functions those
are kept that rules look for, with the line of their call. The rest is left out, as C++ would be,
and so are those of Python's standard library, which are small and many. While an operator runs the
recorder switches the tracing off: nothing of the user's runs there.
Source: torch/csrc/autograd/profiler_python.cpp.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .calls import is_library, is_own, is_standard_library, line_of

LEFT_OUT, USER, LIBRARY, OWN = 0, 1, 2, 3
_SHOWN = {  # functions of tidy's own files
    "runtime/nn/module.py": {"__call__", "zero_grad"},
    "runtime/cuda/memory.py": {"empty_cache"},
    "runtime/cuda/streams.py": {"synchronize"},
}


class PythonRecord(NamedTuple):
    """One call. `module` is set if a module is called: its class, and its identity.

    `place` is the line of the call, where that is wanted: code and offset.
    """

    code: CodeType
    start_ns: int
    end_ns: int
    ident: int
    module: tuple[str, int] | None = None
    place: tuple[CodeType, int] | None = None


class _Kinds(dict[str, int]):
    def __missing__(self, file: str) -> int:
        if is_own(file):
            kind = OWN if _shown[file] else LEFT_OUT
        elif is_standard_library(file):
            kind = LEFT_OUT  # small and many; as C++ is to PyTorch
        else:
            kind = LIBRARY if is_library(file) else USER
        self[file] = kind
        return kind


class _Shown(dict[str, set[str]]):
    """Names of the functions that are kept, by the file's name in a code object."""

    def __missing__(self, file: str) -> set[str]:
        parts = file.replace("\\", "/").rsplit("/", 3)[-3:]
        self[file] = found = _SHOWN.get("/".join(parts), set())
        return found


_shown = _Shown()


def is_shown(code: CodeType) -> bool:
    """Whether a function of a file of kind OWN is kept."""
    return code.co_name in _shown[code.co_filename]


def _nothing(frame: FrameType, event: str, argument: Any) -> None:
    """What traces when the recording is over."""


class PythonFunctions:
    """A function for `sys.setprofile` that keeps what begins and ends: the fields of PythonRecord.

    `trace` is that function. Threads are the system's numbers, as `thread_id()` gives them.
    """

    def __init__(self, thread_id: Callable[[], int]) -> None:
        self.records: list[tuple[Any, ...]] = []
        self._thread_id = thread_id
        self._home = threading.get_ident()
        self._home_id = thread_id()
        self._open: dict[FrameType, tuple[int, int, Any, Any]] = {}
        self._kinds = _Kinds()
        self._stopped = False
        self._before: Any = None
        self._before_in_threads: Any = None
        self.trace = self._tracer()

    def start(self) -> None:
        """Trace this thread, with what is open on it, and threads that start from now on."""
        found: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)
        now = time.perf_counter_ns()
        while frame is not None:
            found.append(frame)
            frame = frame.f_back
        for each in reversed(found):
            self._enter(each, now)
        self._begin()

    def stop(self) -> None:
        """Give way to whoever traced before; other threads do so at their next call."""
        self._stopped = True
        self._end()
        now = time.perf_counter_ns()
        for frame in list(self._open):
            self._leave(frame, now)
        self.trace = _nothing  # the closure would hold us, as we hold it

    def _begin(self) -> None:
        self._before, self._before_in_threads = sys.getprofile(), threading.getprofile()
        threading.setprofile(self.trace)
        sys.setprofile(self.trace)

    def _end(self) -> None:
        if threading.getprofile() is self.trace:
            threading.setprofile(self._before_in_threads)
        if sys.getprofile() is self.trace:
            self._give_back()

    def _give_back(self) -> None:
        home = threading.get_ident() == self._home
        before = self._before if home else self._before_in_threads
        sys.setprofile(None)
        if before is None or callable(before):
            sys.setprofile(before)
        elif hasattr(before, "enable"):  # cProfile's, which is not a function
            before.enable()

    def _tracer(self) -> Callable[[FrameType, str, Any], None]:
        """A closure, since it is called at every call and return there is."""
        kinds, running, keep = self._kinds, self._open, self.records.append
        clock, enter = time.perf_counter_ns, self._enter

        def trace(frame: FrameType, event: str, _: Any) -> None:
            if event == "call":
                code = frame.f_code
                kind = kinds[code.co_filename]
                if kind == OWN and not is_shown(code):
                    return
                if kind and not self._stopped:
                    enter(frame, clock())
                elif self._stopped:
                    self._give_back()
            elif event == "return" and frame in running:
                start, ident, module, place = running.pop(frame)
                keep((frame.f_code, start, clock(), ident, module, place))

        return trace

    def _enter(self, frame: FrameType, now: int) -> None:
        kind = self._kinds[frame.f_code.co_filename]
        module = place = None
        if kind == LIBRARY and frame.f_back is not None and frame.f_back not in self._open:
            return  # what tidy calls is not the user's doing
        if kind == OWN:
            if not is_shown(frame.f_code):
                return
            if frame.f_code.co_name == "__call__":
                one = frame.f_locals.get("self")
                module = (type(one).__name__, id(one))
            else:
                place = line_of(frame.f_back)
        if kind:
            home = threading.get_ident() == self._home
            thread = self._home_id if home else self._thread_id()
            self._open[frame] = (now, thread, module, place)

    def _leave(self, frame: FrameType, now: int) -> None:
        found = self._open.pop(frame, None)
        if found is not None:
            start, ident, module, place = found
            self.records.append((frame.f_code, start, now, ident, module, place))
