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
from _thread import get_ident  # this and the next as they are now: scripts may replace them
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from sys import _getframe as getframe
from sys import getprofile, gettrace, setprofile
from time import perf_counter_ns
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any

from ..runtime.modelled.memory_statistics import empty_cache
from ..runtime.modelled.streams import synchronize
from ..runtime.nn.module import Module
from ..runtime.nn.parameter import Parameter
from ..runtime.optim.optimizer import Optimizer
from ..runtime.optim.swa_utils import AveragedModel
from ..runtime.serialization import save
from .calls import ByFile, is_installed, is_own, is_standard_library, line_of

LEFT_OUT, USER, LIBRARY, OWN = 0, 1, 2, 3
# The functions of tidy's own files that are kept: the name of a file in code objects -> names.
_SHOWN = {
    Module.__call__.__code__.co_filename: {"__call__", "zero_grad"},
    Parameter.__deepcopy__.__code__.co_filename: {"__deepcopy__"},
    Optimizer.__init__.__code__.co_filename: {"__init__"},
    AveragedModel.update_parameters.__code__.co_filename: {"update_parameters"},
    save.__code__.co_filename: {"save"},
    empty_cache.__code__.co_filename: {"empty_cache"},
    synchronize.__code__.co_filename: {"synchronize"},
}


def _kind(file: str) -> int:
    if is_own(file):
        return OWN if file in _SHOWN else LEFT_OUT
    if is_standard_library(file):
        return LEFT_OUT  # small and many; as C++ is to PyTorch
    return LIBRARY if is_installed(file) else USER


KINDS = ByFile(_kind)
_FEWEST_CALLS = 32
_SHORT_NS = 20_000
_FEWEST_EVENTS = 8  # in a call for which it is worth to trace nothing
_MANY_EVENTS = 200  # for each operator: worth more than to know the functions it runs in
_NO_CALL = 0, 0, 0, 0, None, 0
_GENERATOR = 0x20 | 0x80 | 0x200  # flags of code that is left before it has ended
# Trace functions that were replaced. Python 3.11 does not own the function that it is about to
# call: before it does, it makes an object for the frame, which may collect garbage, and what runs
# then (a callback, a finalizer, a pending call of ours) may set another function. The one before
# would be called after it was freed. Source: call_trace in Python/ceval.c.
_replaced = deque[Any](maxlen=1000 if sys.version_info < (3, 12) else 0)


def is_shown(code: CodeType) -> bool:
    """Tell whether a function of a file of kind OWN is kept."""
    return code.co_name in _SHOWN[code.co_filename]


@dataclass
class _Calls:
    code: CodeType  # keeps its identity from being used again
    count: int = 0
    duration_ns: int = 0
    events: int = 0
    ops: int = 0


@dataclass
class PurePython:
    """The functions that are left out of a recording: pure Python, and many.

    `tidy run` records so, piece after piece; `tidy.profile` records all functions there are. The
    time of a function that is left out is that of its caller. Functions go by the identity of their
    code.

    Attributes:
        left_out: short ones in which no operator ran.
        alone: those in which nothing is traced, since it hardly ever gives an operator.
        on_module: gets the frame of each call of a module, when it begins.
    """

    left_out: set[int] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    on_module: Callable[[FrameType], object] | None = None
    _calls: dict[int, _Calls] = field(default_factory=dict)

    def ended(self, code: CodeType, duration_ns: int, events: int, ops: int) -> None:
        """Note a call: how many events of Python it had, and how many operators."""
        calls = self._calls.get(id(code))
        if calls is None:
            calls = self._calls[id(code)] = _Calls(code)
        calls.count += 1
        calls.duration_ns += duration_ns
        calls.events += events
        calls.ops += ops
        if calls.count < _FEWEST_CALLS:
            return
        if not calls.ops and calls.duration_ns < _SHORT_NS * calls.count:
            self.left_out.add(id(code))
        is_generator = code.co_flags & _GENERATOR
        is_large = calls.events >= _FEWEST_EVENTS * calls.count and not is_generator
        if is_large and calls.events >= _MANY_EVENTS * calls.ops:
            self.alone.add(id(code))
        else:
            self.alone.discard(id(code))


class PythonFunctions:
    """`trace` is a function for `sys.setprofile` that keeps what begins and ends.

    Each record is (code, start, end, thread, module, place). Threads are the system's numbers, as
    `thread_id()` gives them; `module` is the class and the identity of a module that is called;
    `place` is the line of the call, where that is wanted: code and offset. Without code it is a
    line of the user's that calls a function which is left out, and takes long.

    Args:
        pure: which functions are left out; None for none of them.
        op_count: how many operators have run so far.
    """

    def __init__(
        self,
        thread_id: Callable[[], int],
        pure: PurePython | None = None,
        op_count: Callable[[], int] = int,
    ) -> None:
        self.records: list[tuple[Any, ...]] = []
        self.events = 0  # calls and returns that were seen, those of C functions too
        self._pure, self._op_count = pure, op_count
        self._thread_id = thread_id
        self._home = get_ident()
        self._home_id = thread_id()
        # By frame, or by what stands for a call in which nothing is traced: code, since when,
        # thread, module, place; then the events and operators before it.
        self._open: dict[object, tuple[CodeType, int, int, Any, Any, int, int]] = {}
        # The user's last call of what is left out: what returns from it (`_called`), since when,
        # how much was kept before it, its thread, and its line: code and offset.
        self._call: tuple[int, int, int, int, Any, int] = _NO_CALL
        self._stopped = False
        self._before: Any = None
        self._before_in_threads: Any = None
        self.trace = self._tracer()

    def start(self) -> None:
        """Trace this thread, with what is open on it, and threads that start from now on."""
        now = perf_counter_ns()
        for frame, _ in reversed([*walk_stack(getframe(1))]):
            self._enter(frame, now)
        self._begin()

    def stop(self) -> list[tuple[Any, ...]]:
        """Give way to whoever traced before, and return the records.

        Other threads give way at their next call.
        """
        self._stopped = True
        self._end()
        now = perf_counter_ns()
        if self._call is not _NO_CALL:
            self._returned(now)
        for call in list(self._open):
            self._leave(call, now)
        _replaced.append(self.trace)
        self.trace = lambda *_: None  # the closure would hold us, as we hold it
        # What is kept of the trace function holds nothing that was recorded.
        self._thread_id, self._op_count = get_ident, int
        records, self.records = self.records, []
        return records

    def _begin(self) -> None:
        self._before, self._before_in_threads = getprofile(), threading.getprofile()
        threading.setprofile(self.trace)
        setprofile(self.trace)

    def _end(self) -> None:
        if threading.getprofile() is self.trace:
            threading.setprofile(self._before_in_threads)
        if getprofile() is self.trace:
            self._give_back()

    def _give_back(self) -> None:
        """Set the function that was set before on this thread."""
        home = get_ident() == self._home
        before = self._before if home else self._before_in_threads
        setprofile(None)
        if before is None or callable(before):
            setprofile(before)
        elif hasattr(before, "enable"):  # cProfile's, which is not a function
            before.enable()

    def _tracer(self) -> Callable[[FrameType, str, Any], None]:
        """A closure, since it is called at every call and return there is."""
        kinds, running, leave = KINDS, self._open, self._leave
        clock, enter, pure = perf_counter_ns, self._enter, self._pure

        def call(frame: FrameType) -> None:
            code = frame.f_code
            kind = kinds[code.co_filename]
            is_left_out = not kind or (kind == OWN and not is_shown(code))
            if is_left_out and pure is not None:
                caller = frame.f_back
                if caller is not None and kinds[caller.f_code.co_filename] == USER:
                    self._called(-id(frame), caller)
            if kind == OWN and is_left_out:
                return
            if kind and not self._stopped:
                if pure is None:
                    enter(frame, clock())
                elif id(code) in pure.alone:
                    self._leave_alone(frame, clock())
                elif id(code) not in pure.left_out:
                    enter(frame, clock())
            elif self._stopped and getprofile() is trace:
                self._give_back()

        def trace(frame: FrameType, event: str, _: Any) -> None:
            self.events += 1
            try:
                if event == "call":
                    call(frame)
                elif event == "return" and frame in running:
                    leave(frame, clock())
                elif pure is None:
                    return
                elif event == "c_call":
                    if kinds[frame.f_code.co_filename] == USER:
                        self._called(id(frame), frame)
                elif self._call[0] == (-id(frame) if event == "return" else id(frame)):
                    self._returned(clock())
            except RecursionError:  # the script is at its limit: it is to see no frame of ours
                return

        return trace

    def _called(self, returns: int, caller: FrameType) -> None:
        """Note a call of the user's to a function that is left out.

        `returns` is the frame that will: the caller's identity, or minus that of the function.
        """
        seen = self._op_count() + len(self.records)
        thread = self._home_id if get_ident() == self._home else self._thread_id()
        self._call = returns, perf_counter_ns(), seen, thread, caller.f_code, caller.f_lasti

    def _returned(self, now: int) -> None:
        """Keep the line of a call that took long, and in which nothing was kept."""
        _, start, seen, thread, *place = self._call
        self._call = _NO_CALL
        if now - start >= _SHORT_NS and seen == self._op_count() + len(self.records):
            self.records.append((None, start, now, thread, None, tuple(place)))

    def _leave_alone(self, frame: FrameType, now: int) -> None:
        """Trace nothing until the function of this frame returns."""
        self._enter(frame, now)
        if gettrace() is not None or frame.f_trace is not None or frame not in self._open:
            return
        one, trace, thread = object(), self.trace, get_ident()
        self._open[one] = self._open.pop(frame)

        def freed() -> None:
            self._leave(one, perf_counter_ns())
            if not self._stopped and get_ident() == thread and not getprofile():
                setprofile(trace)

        frame.f_trace = _EndsWithFrame(freed)
        if not self._stopped:  # the recording may be cut here
            setprofile(None)

    def _enter(self, frame: FrameType, now: int) -> None:
        kind = KINDS[frame.f_code.co_filename]
        module = place = None
        if kind == LIBRARY and frame.f_back is not None and frame.f_back not in self._open:
            return  # what tidy calls is not the user's doing
        if kind == OWN:
            if not is_shown(frame.f_code):
                return
            if frame.f_code.co_name == "__call__":
                one = frame.f_locals.get("self")
                module = (type(one).__name__, id(one))
                if self._pure is not None and self._pure.on_module is not None:
                    self._pure.on_module(frame)
                    place = line_of(frame.f_back)
            else:
                place = line_of(frame.f_back)
        if kind:
            home = get_ident() == self._home
            thread = self._home_id if home else self._thread_id()
            before = self.events, self._op_count()
            self._open[frame] = (frame.f_code, now, thread, module, place, *before)

    def _leave(self, call: object, now: int) -> None:
        """Keep the record of a call; again does nothing."""
        found = self._open.pop(call, None)
        if found is not None:
            code, start, ident, module, place, events, ops = found
            self.records.append((code, start, now, ident, module, place))
            if self._pure is not None and module is None and isinstance(call, FrameType):
                done = self._op_count() - ops
                self._pure.ended(code, now - start, self.events - events, done)


class _EndsWithFrame:
    """Stands as the trace function of a frame, which nothing else holds."""

    __slots__ = ("_freed",)

    def __init__(self, freed: Callable[[], None]) -> None:
        self._freed = freed

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self

    def __del__(self) -> None:
        with suppress(Exception):  # Python would print it
            self._freed()
