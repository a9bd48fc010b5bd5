"""The recorder: what an observer of the runtime has to do while the program runs, and no more.

Each operator leaves one tuple in a list when it ends; all that can be found out later is left for
later (see recording.py). What the options ask for is decided once, when the recorder starts: the
functions that the runtime calls are closures made for it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from ..runtime.cuda import activity
from ..runtime.function import FunctionCtx
from ..runtime.node import RUNS_FIRST, Node
from ..runtime.record_function import (
    RecordFunction,
    add_interposer,
    everyone,
    innermost,
    per_thread,
    remove_interposer,
)
from .calls import backward_line, call_line, is_formula, working_directory
from .device import wait_for_work
from .inputs import describe_all
from .memory import MemoryLog
from .python_functions import PythonFunctions
from .python_monitoring import MonitoredFunctions
from .steps import tracker

clock = time.perf_counter_ns
Place = tuple[CodeType, int]  # code, and the offset of the instruction in it
native_id: Callable[[], int] = getattr(threading, "get_native_id", threading.get_ident)


class OpRecord(NamedTuple):
    """An operator, from `start_ns` to `end_ns` of `time.perf_counter_ns`.

    `ident` is the system's number of its thread; Python reuses its own ones.
    `next_sequence_nr` is the one that the thread's next node would have had when it ended.
    """

    name: str
    start_ns: int
    end_ns: int
    ident: int
    next_sequence_nr: int
    signature: Any = None
    place: Place | None = None


class NodeRecord(NamedTuple):
    """A backward node: its own work ends at `applied_ns`, the engine's for it at `end_ns`.

    `forward_ident` is that of the thread that made it, as the system numbers it or as Python does.
    """

    name: str
    start_ns: int
    applied_ns: int
    end_ns: int
    ident: int
    next_sequence_nr: int
    sequence_nr: int
    forward_ident: int
    signature: Any = None


class RangeRecord(NamedTuple):
    """A `record_function` of the user's, of an optimizer's or of a data loader's."""

    name: str
    start_ns: int
    end_ns: int
    ident: int
    next_sequence_nr: int
    args: tuple[Any, ...] = ()
    place: Place | None = None


class Recorder:
    """Records from `start` to `stop`. Its lists may be read at any time.

    Args:
        shapes: the operators' inputs.
        stacks: Python functions, and the line of each call.
        memory: allocations and frees.
        devices: what devices do, and the calls of the host that have them do it.

    Times are real ones, on the scale of `time.perf_counter_ns`; those of `activity` are modelled.
    """

    op: Callable[..., Any]
    node: Callable[..., Any]
    asks_innermost = True

    def __init__(self, *, shapes: bool, stacks: bool, memory: bool, devices: bool = True) -> None:
        self.records: list[Any] = []
        self.device_properties: list[dict[str, Any]] = []
        self.memory = MemoryLog() if memory else None
        self.activity, self.devices = activity.ActivityLog(), devices
        self.shapes, self.stacks = shapes, stacks
        self.home, self._home_ident = native_id(), threading.get_ident()
        self.native_ids = {self._home_ident: self.home}  # by Python's number, the latest
        self.all_native_ids = {self._home_ident: [self.home]}  # by Python's number, all
        self.thread_names = {self.home: threading.current_thread().name}
        kind = MonitoredFunctions if MonitoredFunctions.is_possible() else PythonFunctions
        self.python = kind(self.thread_id) if stacks else None
        # Of an earlier recording, by thread and sequence number: its nodes may run in this one.
        self.forward_lines: dict[tuple[int, int], str] = {}
        self._open_ranges: dict[int, list[Any]] = {}
        self.backwards: list[tuple[int, int, int, Place | None]] = []  # thread, start, end, line
        self._in_engine: dict[int, Any] = {}  # threads in a backward: what traces them else

    @property
    def python_records(self) -> list[tuple[Any, ...]]:
        return self.python.records if self.python else []

    def start(self) -> None:
        self.start_ns, self.start_unix_ns = clock(), time.time_ns()
        activity.add_log(self.activity)
        self.home_sequence_nr = per_thread.sequence_nr
        self.known_idents = {thread.native_id for thread in threading.enumerate()}
        in_full = self.shapes or self.stacks or self.memory
        self.op = self._op_in_full() if in_full else self._op()
        self.node = self._node_in_full() if in_full else self._node()
        add_interposer(self)
        if self.python:
            self.python.start()

    def stop(self) -> None:
        wait_for_work()
        if self.python:
            self.python.stop()
        remove_interposer(self)
        # Not ours any more, so that no circle keeps the records when nobody else does.
        self.op, self.node = everyone.op, everyone.node
        if self.memory:
            self.memory.stop()
        self.end_ns, self.directory = clock(), working_directory()
        activity.remove_log(self.activity)
        self.device_properties = activity.properties()
        for context in list(self._open_ranges.values()):
            self._keep_range(context, self.end_ns)
        for thread in threading.enumerate():
            if thread.ident is not None and thread.native_id is not None:
                self.native_ids.setdefault(thread.ident, thread.native_id)
                self.thread_names.setdefault(thread.native_id, thread.name)

    def thread_id(self) -> int:
        """The system's number of this thread, whose name is noted."""
        ident = native_id()
        if ident not in self.thread_names:
            known = {thread.ident: thread.name for thread in threading.enumerate()}
            own = threading.get_ident()
            self.native_ids[own] = ident
            if ident not in self.all_native_ids.setdefault(own, []):
                self.all_native_ids[own].append(ident)
            if own in known:  # not while it is starting
                self.thread_names[ident] = known[own]
        return ident

    def enter(self, record: RecordFunction) -> list[Any]:
        start, place = clock(), call_line(2) if self.stacks else None
        home = threading.get_ident() == self._home_ident
        context = [record, start, self.home if home else self.thread_id(), place]
        self._open_ranges[id(context)] = context
        return context

    def exit(self, record: RecordFunction, context: list[Any]) -> None:
        self._keep_range(context, clock())

    def is_inside(self, prefix: str) -> bool:
        """Whether a range with a name that begins so is open."""
        return any(each[0].name.startswith(prefix) for each in list(self._open_ranges.values()))

    def _keep_range(self, context: list[Any], end: int) -> None:
        if self._open_ranges.pop(id(context), None) is None:
            return  # the recording has ended before the range
        record, start, ident, place = context
        if record.name.startswith("Optimizer.step#"):
            tracker.increment("Optimizer")
        number = per_thread.sequence_nr
        self.records.append(
            RangeRecord(record.name, start, end, ident, number, record.inputs, place)
        )

    def _op(self) -> Callable[..., Any]:
        append, get_ident = self.records.append, threading.get_ident
        home, home_ident, thread_id = self.home, self._home_ident, self.thread_id

        def op(name: str, inner: Any, args: Any, kwargs: Any = None) -> Any:
            start, out = clock(), None
            try:
                if innermost:
                    out = innermost[0].op(name, inner, args, kwargs)
                else:
                    out = inner(*args, **kwargs) if kwargs else inner(*args)
                return out
            finally:
                end = clock()
                if get_ident() == home_ident:
                    append((name, start, end, home, per_thread.sequence_nr))
                else:
                    append((name, start, end, thread_id(), per_thread.sequence_nr))
                    _note_thread(out, thread_id())

        return op

    def _node(self) -> Callable[..., Any]:
        append, get_ident = self.records.append, threading.get_ident
        home, home_ident, thread_id = self.home, self._home_ident, self.thread_id

        def node(node: Any, grads: Any, validate: Any) -> Any:
            start = applied = clock()
            try:
                outputs = node.apply(grads)
                applied = clock()
                return outputs if validate is None else validate(node, outputs)
            finally:
                end = clock() if validate is not None or applied == start else applied
                append(
                    (
                        node.name(),
                        start,
                        applied if applied != start else end,
                        end,
                        home if get_ident() == home_ident else thread_id(),
                        per_thread.sequence_nr,
                        node.sequence_nr,
                        node.thread_id or home,
                        None,
                    )
                )

        return node

    def _op_in_full(self) -> Callable[..., Any]:
        append, get_ident = self.records.append, threading.get_ident
        home, home_ident, thread_id = self.home, self._home_ident, self.thread_id
        getprofile, setprofile, in_engine = sys.getprofile, sys.setprofile, self._in_engine
        getframe = sys._getframe
        own = self.python.trace if self.python else None
        shapes, stacks, memory = self.shapes, self.stacks, self.memory
        note = memory.note if memory is not None else None

        def op(name: str, inner: Any, args: Any, kwargs: Any = None) -> Any:  # noqa: PLR0912
            place = signature = tracing = None
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
                    place = call_line(2)
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
            except MemoryError as error:
                if memory is not None:
                    memory.failed(error)
                raise
            finally:
                end = clock()
                ident = home if get_ident() == home_ident else thread_id()
                append((name, start, end, ident, per_thread.sequence_nr, signature, place))
                if tracing is not None:
                    setprofile(tracing)
            if ident != home:
                _note_thread(out, ident)
            return out

        return op

    def internal(self, run: Any, *args: Any) -> Any:
        """What is ours is not traced."""
        tracing = sys.getprofile() if self.stacks else None
        if tracing is None or self.python is None or tracing is not self.python.trace:
            return run(*args)
        sys.setprofile(None)
        try:
            return run(*args)
        finally:
            sys.setprofile(tracing)

    def backward(self, run: Any, *args: Any) -> Any:
        """The same, but what the user wrote for a node is traced (see `_node`)."""
        if not self.stacks:
            return run(*args)
        ident, start, place = threading.get_ident(), clock(), backward_line(2)
        inside = ident in self._in_engine
        if not inside:
            self._in_engine[ident] = sys.getprofile()
        try:
            return run(*args) if inside else self.internal(run, *args)
        finally:
            if not inside:
                del self._in_engine[ident]
            self.backwards.append((self.thread_id(), start, clock(), place))

    def _node_in_full(self) -> Callable[..., Any]:
        append, get_ident = self.records.append, threading.get_ident
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
                append(
                    (
                        node.name(),
                        start,
                        applied,
                        end,
                        home if get_ident() == home_ident else thread_id(),
                        per_thread.sequence_nr,
                        node.sequence_nr,
                        node.thread_id or home,
                        signature,
                    )
                )

        return node

    def _traced(self, apply: Any, grads: Any) -> Any:
        ident = threading.get_ident()
        tracing = self._in_engine.get(ident)
        if tracing is None or self.python is None or tracing is not self.python.trace:
            return apply(grads)
        del self._in_engine[ident]
        sys.setprofile(tracing)
        try:
            return apply(grads)
        finally:
            sys.setprofile(None)
            self._in_engine[ident] = tracing


def _note_thread(out: Any, ident: int) -> None:
    """Backward may run on another thread than the one that made its nodes."""
    for one in out if isinstance(out, (tuple, list)) else (out,):
        node = getattr(one, "_node", None)
        if node is not None and not node.thread_id:
            node.thread_id = ident
