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

from ..runtime.record_function import (
    RecordFunction,
    add_interposer,
    per_thread,
    remove_interposer,
)
from .calls import call_line
from .inputs import describe_all
from .memory import MemoryLog
from .python_functions import PythonFunctions, PythonRecord

clock = time.perf_counter_ns
Place = tuple[CodeType, int]  # code, and the offset of the instruction in it


class OpRecord(NamedTuple):
    """An operator, from `start_ns` to `end_ns` of `time.perf_counter_ns`.

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
    """A backward node: its own work ends at `applied_ns`, the engine's for it at `end_ns`."""

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
    """

    op: Callable[..., Any]
    node: Callable[..., Any]

    def __init__(self, *, shapes: bool, stacks: bool, memory: bool) -> None:
        self.records: list[Any] = []
        self.memory = MemoryLog() if memory else None
        self.python = PythonFunctions() if stacks else None
        self.shapes, self.stacks = shapes, stacks
        self.home = threading.get_ident()
        self._in_engine: dict[int, Any] = {}  # threads in a backward: what traces them else

    @property
    def python_records(self) -> list[PythonRecord]:
        return self.python.records if self.python else []

    def start(self) -> None:
        self.start_ns, self.start_unix_ns = clock(), time.time_ns()
        self.home_sequence_nr = per_thread.sequence_nr
        self.known_idents = {thread.ident for thread in threading.enumerate()}
        self.op = self._op_in_full() if self.shapes or self.stacks or self.memory else self._op()
        self.node = self._node()
        add_interposer(self)
        if self.python:
            self.python.start()

    def stop(self) -> None:
        if self.python:
            self.python.stop()
        remove_interposer(self)
        if self.memory:
            self.memory.stop()
        self.end_ns = clock()
        self.native_ids = {t.ident: t.native_id for t in threading.enumerate()}
        self.thread_names = {t.native_id: t.name for t in threading.enumerate()}

    def enter(self, record: RecordFunction) -> int:
        return clock()

    def exit(self, record: RecordFunction, context: int) -> None:
        place = call_line(2) if self.stacks else None
        ident, number = threading.get_ident(), per_thread.sequence_nr
        self.records.append(
            RangeRecord(record.name, context, clock(), ident, number, record.inputs, place)
        )

    def _op(self) -> Callable[..., Any]:
        append, get_ident, home = self.records.append, threading.get_ident, self.home

        def op(name: str, inner: Any, args: Any, kwargs: Any = None) -> Any:
            start = clock()
            try:
                out = inner(*args, **kwargs) if kwargs else inner(*args)
            finally:
                ident = get_ident()
                append((name, start, clock(), ident, per_thread.sequence_nr))
            if ident != home:
                _note_thread(out, ident)
            return out

        return op

    def _op_in_full(self) -> Callable[..., Any]:
        append, get_ident, home = self.records.append, threading.get_ident, self.home
        getprofile, setprofile, in_engine = sys.getprofile, sys.setprofile, self._in_engine
        shapes, stacks, memory = self.shapes, self.stacks, self.memory
        note = memory.note if memory is not None else None

        def op(name: str, inner: Any, args: Any, kwargs: Any = None) -> Any:
            place = signature = tracing = None
            if stacks:
                tracing = getprofile()
                if tracing is not None:
                    setprofile(None)
                place = None if get_ident() in in_engine else call_line(2)
            if shapes:
                signature = describe_all((*args, *kwargs.values()) if kwargs else args)
            if tracing is not None and not name.startswith("aten::"):
                setprofile(tracing)  # a function of the user's
            start = clock()
            try:
                out = inner(*args, **kwargs) if kwargs else inner(*args)
                if note is not None:
                    note(out, args)
            except MemoryError as error:
                if memory is not None:
                    memory.failed(error)
                raise
            finally:
                ident = get_ident()
                append((name, start, clock(), ident, per_thread.sequence_nr, signature, place))
                if tracing is not None:
                    setprofile(tracing)
            if ident != home:
                _note_thread(out, ident)
            return out

        return op

    def internal(self, run: Any, *args: Any) -> Any:
        """What is ours is not traced."""
        tracing = sys.getprofile() if self.stacks else None
        if tracing is None:
            return run(*args)
        sys.setprofile(None)
        try:
            return run(*args)
        finally:
            sys.setprofile(tracing)

    def backward(self, run: Any, *args: Any) -> Any:
        """The same, but what the user wrote for a node is traced (see `_node`)."""
        ident = threading.get_ident()
        if not self.stacks or ident in self._in_engine:
            return run(*args)
        self._in_engine[ident] = sys.getprofile()
        try:
            return self.internal(run, *args)
        finally:
            del self._in_engine[ident]

    def _node(self) -> Callable[..., Any]:
        append, get_ident, home = self.records.append, threading.get_ident, self.home
        shapes, stacks, memory = self.shapes, self.stacks, self.memory

        def node(node: Any, grads: Any, validate: Any) -> Any:
            signature = describe_all(grads) if shapes else None
            start = applied = clock()
            try:
                if stacks and hasattr(node, "function"):
                    outputs = self._traced(node.apply, grads)
                else:
                    outputs = node.apply(grads)
                applied = clock()
                if validate is not None:
                    outputs = validate(node, outputs)
                if memory is not None and not outputs:  # AccumulateGrad may have made a copy
                    memory.note(getattr(getattr(node, "variable", None), "_grad", None), grads)
                return outputs
            finally:
                end = clock() if validate is not None else applied
                append(
                    (
                        node.name(),
                        start,
                        applied,
                        end,
                        get_ident(),
                        per_thread.sequence_nr,
                        node.sequence_nr,
                        node.thread_id or home,
                        signature,
                    )
                )

        return node

    def _traced(self, apply: Any, grads: Any) -> Any:
        ident = threading.get_ident()
        tracing = self._in_engine.pop(ident)
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
