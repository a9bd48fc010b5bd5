"""The capture: what an observer of the runtime has to do while the program runs, and no more.

Operators, nodes and ranges each leave one tuple in a list when they end, and calls that do no work
one for several; all that can be found out later is left for later (see finish.py). The functions
that the runtime calls are closures, made for the options when the capture starts. The tuples are
told apart by their length:

    calls       tree, start, thread, next sequence number
    range       name, start, end, thread, next sequence number, place
    operator    name, start, end, thread, next sequence number, place, signature
    node        name, start, applied, end, thread, next sequence number, sequence number,
                forward thread, signature

Times are those of `time.perf_counter_ns`. A thread has the system's number, since Python reuses its
own ones. The next sequence number is the one that the thread's next node would have had at the end.
A node's own work ends at `applied`, the engine's for it at `end`. The forward thread is the one
that made it, as the system numbers it or as Python does.
"""

from __future__ import annotations

import threading
import time
from _thread import get_ident  # this and the next as they are now: scripts may replace them
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from sys import _getframe as getframe
from sys import getprofile, setprofile
from types import CodeType, FrameType
from typing import Any

from ..runtime.core.thread_state import thread as per_thread
from ..runtime.engine.function import FunctionCtx
from ..runtime.engine.node import RUNS_FIRST, Node
from ..runtime.modelled import ActivityLog, add_log, device_properties, remove_log
from ..runtime.observe.arrangement import add_interposer, everyone, innermost, remove_interposer
from ..runtime.observe.record import RecordFunction
from ..runtime.observe.worker_batches import WorkerBatch, listeners
from ..trace.raw_columns import Interner
from .calls import backward_line, is_formula, line_of
from .device_part import wait_for_work
from .garbage import GarbageCollections
from .memory_log import MemoryLog
from .python_functions import PurePython, PythonFunctions
from .python_monitoring import MonitoredFunctions
from .schedule import tracker
from .signatures import describe_all

clock, unix_clock = time.perf_counter_ns, time.time_ns
Place = tuple[CodeType, int]  # code, and the offset of the instruction in it
native_id: Callable[[], int] = getattr(threading, "get_native_id", get_ident)


def both_clocks() -> tuple[int, int]:
    """Read `time.perf_counter_ns` and `time.time_ns` at one moment, or as nearly as can be.

    Between two calls the process may lose its processor for a while.
    """
    readings = []
    for _ in range(5):
        before, unix, after = clock(), unix_clock(), clock()
        readings.append((after - before, (before + after) // 2, unix))
    return min(readings)[1:]


class EventCapture:
    """Captures from `start` to `stop`. Its lists may be read at any time.

    Args:
        shapes: the operators' inputs.
        stacks: Python functions, collections of garbage, and the line of each call.
        memory: allocations and frees.
        devices: what devices do, and the calls of the host that have them do it.
        pure: which Python functions are left out.

    Times are real ones, on the scale of `time.perf_counter_ns`; those of `activity` are modelled.
    """

    op: Callable[..., Any]
    node: Callable[..., Any]
    asks_innermost = True

    def __init__(
        self,
        *,
        shapes: bool,
        stacks: bool,
        memory: bool,
        devices: bool = True,
        pure: PurePython | None = None,
    ) -> None:
        self.records: list[Any] = []
        self.device_properties: list[dict[str, Any]] = []
        self.memory = MemoryLog() if memory else None
        self.activity, self.devices = ActivityLog(), devices
        self.shapes, self.stacks = shapes, stacks
        self.home, self._home_ident = native_id(), get_ident()
        # By Python's number, all threads that had it; the latest last.
        self.native_ids = {self._home_ident: [self.home]}
        self.thread_names = {self.home: threading.current_thread().name}
        kind = MonitoredFunctions if MonitoredFunctions.is_possible() else PythonFunctions
        self.python = kind(self.thread_id, pure, self.records.__len__) if stacks else None
        self.python_records: list[tuple[Any, ...]] = []  # when it has stopped
        self.garbage = GarbageCollections(self.thread_id)
        # Of the piece before, by thread and sequence number: its nodes may run in this one.
        self.forward_lines: dict[tuple[int, int], str] = {}
        # By class, which number each identity of a module has; goes on from piece to piece.
        self.module_numbers: dict[str, Interner] = {}
        self._open_ranges: dict[int, list[Any]] = {}
        self.backwards: list[tuple[int, int, int, Place | None]] = []  # thread, start, end, line
        self._in_engine: dict[int, Any] = {}  # threads in a backward: what traces them else
        self.worker_batches: list[WorkerBatch] = []

    def start(self) -> None:
        self.start_ns, self.start_unix_ns = both_clocks()
        add_log(self.activity)
        self.home_sequence_nr = per_thread.sequence_nr
        self.known_idents = {thread.native_id for thread in threading.enumerate()}
        self.op, self.node = self._op(), self._node()
        add_interposer(self)
        listeners.append(self.worker_batches.append)
        if self.python:
            self.garbage.start()
            self.python.start()

    def stop(self, wait: bool) -> None:
        """Capture no more.

        With `wait` the host waits, in modelled time, until the devices have done all that they were
        given. What they did is known without that.
        """
        if wait:
            wait_for_work()
        self.end_ns = clock()
        if self.python:
            self.python_records = self.python.stop()
            self.garbage.stop()
        remove_interposer(self)
        listeners.remove(self.worker_batches.append)
        # Not ours any more, so that no circle keeps the records when nobody else does.
        self.op, self.node = everyone.op, everyone.node
        if self.memory:
            self.memory.stop()
        self.directory = Path()
        with suppress(OSError):  # it may be gone
            self.directory = Path.cwd()
        remove_log(self.activity)
        self.device_properties = device_properties()
        for context in list(self._open_ranges.values()):
            self._keep_range(context, self.end_ns)
        for thread in threading.enumerate():
            if thread.ident is not None and thread.native_id is not None:
                self.native_ids.setdefault(thread.ident, [thread.native_id])
                self.thread_names.setdefault(thread.native_id, thread.name)

    def thread_id(self) -> int:
        """Return the system's number of this thread, whose name is noted."""
        ident = native_id()
        if ident not in self.thread_names:
            known = {thread.ident: thread.name for thread in threading.enumerate()}
            own = get_ident()
            if ident not in self.native_ids.setdefault(own, []):
                self.native_ids[own].append(ident)
            if own in known:  # not while it is starting
                self.thread_names[ident] = known[own]
        return ident

    def enter(self, record: RecordFunction) -> list[Any]:
        context: list[Any] = [record, clock(), self.home, None]
        self._open_ranges[id(context)] = context  # at once: a capture that ends keeps what is open
        if self.stacks:
            context[3] = line_of(getframe(1))
        if get_ident() != self._home_ident:
            context[2] = self.thread_id()
        return context

    def exit(self, record: RecordFunction, context: list[Any]) -> None:
        self._keep_range(context, clock())

    def is_inside(self, prefix: str) -> bool:
        """Tell whether a range with a name that begins so is open."""
        return any(each[0].name.startswith(prefix) for each in list(self._open_ranges.values()))

    def is_inside_operator(self) -> bool:
        """Tell whether this thread is in an operator or a node."""
        frame: FrameType | None = getframe(1)
        codes = {self.op.__code__, self.node.__code__}
        while frame is not None and frame.f_code not in codes:
            frame = frame.f_back
        return frame is not None

    def _keep_range(self, context: list[Any], end: int) -> None:
        if id(context) not in self._open_ranges:
            return  # the capture has ended before the range
        record, start, ident, place = context
        if record.name.startswith("Optimizer.step#"):
            tracker.increment("Optimizer")
        kept = (record.name, start, end, ident, per_thread.sequence_nr, place)
        # One right after the other: a capture that ends in between has lost the range.
        if self._open_ranges.pop(id(context), None) is not None:
            self.records.append(kept)

    def _op(self) -> Callable[..., Any]:
        append = self.records.append
        home, home_ident, thread_id = self.home, self._home_ident, self.thread_id
        in_engine = self._in_engine
        own = self.python.trace if self.python else None
        shapes, stacks, memory = self.shapes, self.stacks, self.memory
        note = memory.note if memory is not None else None

        def op(name: str, inner: Any, args: Any, kwargs: Any = None) -> Any:  # noqa: PLR0912
            out = place = signature = tracing = None
            if stacks:
                tracing = getprofile()
                if tracing is own:
                    setprofile(None)
                else:
                    tracing = None  # the script's own profiler goes on
                # What a formula of a node calls takes the line of the node's forward.
                if (
                    not in_engine
                    or get_ident() not in in_engine
                    or not is_formula[getframe(2).f_code.co_filename]
                ):
                    place = line_of(getframe(1))
            if shapes:
                signature = describe_all((*args, *kwargs.values()) if kwargs else args)
            if tracing is not None and not name.startswith("aten::"):
                setprofile(tracing)  # a function of the user's
            start = clock()
            try:
                if innermost:
                    out = innermost[0].op(name, inner, args, kwargs)
                else:
                    out = inner(*args, **kwargs) if kwargs else inner(*args)
                if note is not None:
                    note(out, args)
                return out
            except MemoryError as error:
                if memory is not None:
                    memory.failed(error)
                raise
            finally:
                end, ident = clock(), home
                if get_ident() != home_ident:
                    ident = thread_id()
                    _note_thread(out, ident)
                append((name, start, end, ident, per_thread.sequence_nr, place, signature))
                if tracing is not None:
                    setprofile(tracing)

        return op

    def calls(self, tree: str) -> None:
        """Note operators that do no work, as `bookkeeping.show` writes them."""
        ident = self.home if get_ident() == self._home_ident else self.thread_id()
        self.records.append((tree, clock(), ident, per_thread.sequence_nr))

    def internal(self, run: Any, *args: Any) -> Any:
        """Run what is ours, untraced."""
        tracing = getprofile() if self.stacks else None
        if tracing is None or self.python is None or tracing is not self.python.trace:
            return run(*args)
        setprofile(None)
        try:
            return run(*args)
        finally:
            setprofile(tracing)

    def backward(self, run: Any, *args: Any) -> Any:
        """Return the same, but what the user wrote for a node is traced (see `_node`)."""
        if not self.stacks:
            return run(*args)
        ident, start, place = get_ident(), clock(), backward_line(getframe(1))
        inside = ident in self._in_engine
        if not inside:
            self._in_engine[ident] = getprofile()
        try:
            return run(*args) if inside else self.internal(run, *args)
        finally:
            if not inside:
                del self._in_engine[ident]
            self.backwards.append((self.thread_id(), start, clock(), place))

    def _node(self) -> Callable[..., Any]:
        append = self.records.append
        home, home_ident, thread_id = self.home, self._home_ident, self.thread_id
        shapes, stacks, memory = self.shapes, self.stacks, self.memory

        def node(node: Any, grads: Any, validate: Any) -> Any:
            leaf = had = None
            if memory is not None and node.sequence_nr == RUNS_FIRST:
                leaf = getattr(node, "variable", None)  # another observer may stand between
                had = getattr(leaf, "_grad", None)
            signature = describe_all(grads) if shapes else None
            start = applied = clock()
            try:
                if stacks and (
                    isinstance(node, FunctionCtx)
                    if isinstance(node, Node)
                    else hasattr(node, "function")  # another observer stands between
                ):
                    outputs = self._traced(node.apply, grads)
                else:
                    outputs = node.apply(grads)
                applied = clock()
                if validate is not None:
                    outputs = validate(node, outputs)
                if leaf is not None and memory is not None:  # it may have made a copy
                    memory.note(leaf._grad, (had,))
                return outputs
            finally:
                if applied == start:  # it failed
                    applied = clock()
                end = clock() if validate is not None else applied
                ident = home if get_ident() == home_ident else thread_id()
                name, number, forward = node.name(), node.sequence_nr, node.thread_id or home
                next_nr = per_thread.sequence_nr
                append((name, start, applied, end, ident, next_nr, number, forward, signature))

        return node

    def _traced(self, apply: Any, grads: Any) -> Any:
        ident = get_ident()
        tracing = self._in_engine.get(ident)
        if tracing is None or self.python is None or tracing is not self.python.trace:
            return apply(grads)
        del self._in_engine[ident]
        setprofile(tracing)
        try:
            return apply(grads)
        finally:
            setprofile(None)
            self._in_engine[ident] = tracing


def _note_thread(out: Any, ident: int) -> None:
    """Backward may run on another thread than the one that made its nodes."""
    for one in out if isinstance(out, (tuple, list)) else (out,):
        node = getattr(one, "_node", None)
        if node is not None and not node.thread_id:
            node.thread_id = ident
