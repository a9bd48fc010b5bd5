"""From what a recorder kept to the events of a trace, in the order in which they began.

Times are Unix time in nanoseconds from here on. An operator's sequence number is the one that its
thread's next node had when the operator began, if it made a node; it is found from the numbers
that operators saw when they ended.
"""

from __future__ import annotations

import gc
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..trace.kinds import EventKind
from .calls import FrameTexts, encodable
from .device import DevicePart, finish_device, link_calls
from .inputs import settle
from .memory import Memory
from .python_functions import PythonRecord
from .recorder import NodeRecord, OpRecord, RangeRecord, Recorder
from .threads import SystemThreads
from .timeline import Timeline

_RUNS_FIRST = 2**64 - 1  # the sequence number of AccumulateGrad


@dataclass(slots=True)
class RecordedEvent:
    """One event on a host thread.

    `call_stack` is `file(line): function` of the call, "" where it is not known. `forward_thread`
    is PyTorch's small number of the thread that made a backward's node, 0 for all else.
    """

    kind: EventKind
    name: str
    start_ns: int
    end_ns: int
    tid: int
    sequence_nr: int = -1
    forward_thread: int = 0
    signature: Any = None
    call_stack: str = ""
    module_id: int | None = None  # of `nn.Module: Linear_0`: which one it is, from 0


@dataclass(slots=True)
class Recording:
    """All that one recording holds, and which of it was asked for.

    `arrows` are (index of the forward event, index of the backward one).
    """

    events: list[RecordedEvent] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)
    thread_names: dict[int, str] = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0
    pid: int = 0
    device: DevicePart = field(default_factory=DevicePart)
    forward_lines: dict[tuple[int, int], str] = field(default_factory=dict)


def finish(recorder: Recorder) -> Recording:
    """The recording of a recorder that was stopped."""
    collects = gc.isenabled()
    gc.disable()  # it would look through all events again and again, and find nothing
    try:
        return _finish(recorder)
    finally:
        if collects:
            gc.enable()


def _finish(recorder: Recorder) -> Recording:
    line = Timeline(recorder.activity.turns, recorder.start_unix_ns - recorder.start_ns)
    events = _by_start(recorder)
    _number(events, recorder)
    found = [event for event, _ in events]
    arrows, forward_lines = _link(found, recorder)
    starts, ends = line.of([e.start_ns for e in found]), line.of([e.end_ns for e in found])
    for event, start, end in zip(found, starts, ends, strict=True):
        event.start_ns, event.end_ns = start, end
    threads = SystemThreads(recorder.native_ids, recorder.all_native_ids, found)
    memory = _memory(recorder, line, threads)
    device = DevicePart()
    if recorder.devices:
        with_memory = recorder.memory is not None
        device = finish_device(recorder.activity, line.unix_ns, threads, with_memory)
        link_calls(device, found)
    tids = dict.fromkeys([*(e.tid for e in found), *(m.ident for m in memory), *device.threads])
    names = {tid: encodable(recorder.thread_names.get(tid, f"thread {tid}")) for tid in tids}
    start, end = line.of([recorder.start_ns, recorder.end_ns])
    return Recording(found, memory, arrows, names, start, end, os.getpid(), device, forward_lines)


def _memory(recorder: Recorder, line: Timeline, threads: SystemThreads) -> list[Memory]:
    changes = [Memory(*each) for each in sorted(recorder.memory.changes if recorder.memory else ())]
    times = line.of([change.time_ns for change in changes])
    return [
        change._replace(time_ns=time_ns, ident=threads.at(change.ident, time_ns))
        for change, time_ns in zip(changes, times, strict=True)
    ]


Numbered = tuple[RecordedEvent, Any]  # and the record that it was made of


def _by_start(recorder: Recorder) -> list[Numbered]:
    small: dict[int, int] = {recorder.home: 1}
    system = recorder.native_ids
    events: list[Numbered] = []
    frames = FrameTexts(recorder.directory)
    for record in list(recorder.records):
        if isinstance(record, RangeRecord):
            events.append((_of_range(record, frames), record))
        elif len(record) == len(NodeRecord._fields):
            node = NodeRecord(*record)
            forward = system.get(node.forward_ident, node.forward_ident)
            outer, inner = _of_node(node, small.setdefault(forward, len(small) + 1))
            events += ((inner, node), (outer, None))
        else:
            op = OpRecord(*record)
            event = RecordedEvent(EventKind.TorchOp, op.name, op.start_ns, op.end_ns, op.ident)
            event.call_stack = frames.of(op.place)
            event.signature = None if op.signature is None else settle(op.signature)
            events.append((event, op))
    counts: Counter[str] = Counter()
    modules: dict[tuple[str, int], int] = {}
    events.reverse()
    functions = [PythonRecord(*record) for record in list(recorder.python_records)]
    for each in sorted(functions, key=lambda r: r.start_ns):
        events.append((_of_python(each, frames, counts, modules), None))
    # Of those that begin at one time the longest is outermost, or the last to be kept.
    return sorted(events, key=lambda pair: (pair[0].start_ns, -pair[0].end_ns))


def _of_range(record: RangeRecord, frames: FrameTexts) -> RecordedEvent:
    name, start, end, ident, _, args, place = record
    event = RecordedEvent(EventKind.Annotation, encodable(name), start, end, ident)
    event.call_stack = frames.of(place)
    event.signature = args or None
    return event


def _of_node(node: NodeRecord, thread: int) -> tuple[RecordedEvent, RecordedEvent]:
    """The engine's part and the node's own, which is the first to end: the link is the latter's."""
    number = -1 if node.sequence_nr == _RUNS_FIRST else node.sequence_nr
    outer = f"autograd::engine::evaluate_function: {node.name}"
    applied = max(min(node.applied_ns, node.end_ns - 1), node.start_ns)
    both = [
        RecordedEvent(EventKind.TorchOp, name, node.start_ns, end, node.ident, number, thread)
        for name, end in ((outer, node.end_ns), (node.name, applied))
    ]
    both[1].signature = node.signature
    return both[0], both[1]


def _of_python(
    record: PythonRecord,
    frames: FrameTexts,
    counts: Counter[str],
    modules: dict[tuple[str, int], int],
) -> RecordedEvent:
    code = record.code
    name, number = frames.function(code), None
    if record.module is not None:
        if record.module not in modules:
            modules[record.module] = counts[record.module[0]]
            counts[record.module[0]] += 1
        number = modules[record.module]
        name = encodable(f"nn.Module: {record.module[0]}_{number}")
    event = RecordedEvent(EventKind.PyCall, name, record.start_ns, record.end_ns, record.ident)
    event.module_id, event.call_stack = number, frames.of(record.place)
    return event


def _number(events: list[Numbered], recorder: Recorder) -> None:
    """Give each operator that made a node the sequence number of the first one it made."""
    seen: dict[int, list[tuple[int, int]]] = {}  # thread: (end of a call, next number then)
    for _, record in events:
        if record is not None:
            at = (record.end_ns, record.next_sequence_nr)
            seen.setdefault(record.ident, []).append(at)
    ends: dict[int, tuple[list[int], list[int]]] = {}
    for ident, pairs in seen.items():
        pairs.sort()
        ends[ident] = [end for end, _ in pairs], [number for _, number in pairs]
    for event, record in events:
        if not isinstance(record, OpRecord):
            continue
        times, numbers = ends[record.ident]
        before = bisect_right(times, record.start_ns) - 1
        if before >= 0:
            number = numbers[before]
        elif record.ident == recorder.home:
            number = recorder.home_sequence_nr
        elif record.ident not in recorder.known_idents:
            number = 0  # a thread begins with it
        else:
            continue
        if record.next_sequence_nr > number:
            event.sequence_nr = number


def _link(
    events: list[RecordedEvent], recorder: Recorder
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], str]]:
    """Arrows from forward to backward, along which the lines of calls go too.

    The second answer has the lines of what made nodes, by thread and sequence number: a recording
    that goes on where this one was cut has their backward. Where several forward operators share a
    number (`aten::linear`, `aten::t` within it) the last to begin made the node (PyTorch PR
    #62553).
    """
    forward: dict[int, dict[int, int]] = {}  # tid: sequence number: index
    arrows: list[tuple[int, int]] = []
    tid_of = _forward_tids(recorder)
    taken: set[int] = set()  # forward events: each has one arrow, to the first backward
    lines = {tid: _Lines(starts) for tid, starts in _backwards(recorder).items()}
    for index, event in enumerate(events):
        if event.kind != EventKind.TorchOp:
            continue
        running = lines.get(event.tid) or lines.setdefault(event.tid, _Lines(()))
        running.go_to(event)
        if event.forward_thread:
            source = forward.get(tid_of.get(event.forward_thread, -1), {}).get(event.sequence_nr)
            if source is None:
                place = tid_of.get(event.forward_thread, -1), event.sequence_nr
                if line := recorder.forward_lines.get(place):
                    running.own(event, line)
            else:
                running.own(event, events[source].call_stack)
                engine = event.name.startswith("autograd::engine::")
                if not engine and source not in taken:
                    taken.add(source)
                    arrows.append((source, index))
            continue
        if event.call_stack:
            running.own(event, event.call_stack)
        if event.sequence_nr >= 0:
            forward.setdefault(event.tid, {})[event.sequence_nr] = index
    known = {(t, n): events[i].call_stack for t, each in forward.items() for n, i in each.items()}
    return arrows, known if recorder.stacks else {}


class _Lines:
    """What runs on a thread within backwards, each (end, line): that of the innermost is taken.

    It is that of a backward's call, of a node's forward, or of what a node or hook of the user's
    calls.
    """

    def __init__(self, backwards: Iterable[tuple[int, int, str]]) -> None:
        self._coming = sorted(backwards, reverse=True)
        self._running: list[tuple[int, str]] = []

    def go_to(self, event: RecordedEvent) -> None:
        """The next event has begun; it has the line around it unless it has one of its own."""
        running, coming = self._running, self._coming
        while coming and coming[-1][0] <= event.start_ns:
            start, end, line = coming.pop()
            self._leave(start)
            running.append((end, line))
        self._leave(event.start_ns)
        if running and not event.call_stack:
            event.call_stack = running[-1][1]

    def own(self, event: RecordedEvent, line: str) -> None:
        """Until it ends this line is taken."""
        event.call_stack = line
        if self._running:
            self._running.append((event.end_ns, line))

    def _leave(self, time_ns: int) -> None:
        while self._running and self._running[-1][0] < time_ns:
            self._running.pop()


def _backwards(recorder: Recorder) -> dict[int, list[tuple[int, int, str]]]:
    """By thread: (start, end, line of the call) of each backward."""
    frames, found = FrameTexts(recorder.directory), dict[int, list[tuple[int, int, str]]]()
    for tid, start, end, place in list(recorder.backwards):
        found.setdefault(tid, []).append((start, end, frames.of(place)))
    return found


def _forward_tids(recorder: Recorder) -> dict[int, int]:
    system = recorder.native_ids
    small: dict[int, int] = {recorder.home: 1}
    for record in list(recorder.records):
        if not isinstance(record, RangeRecord) and len(record) == len(NodeRecord._fields):
            small.setdefault(system.get(record[7], record[7]), len(small) + 1)
    return {number: ident for ident, number in small.items()}
