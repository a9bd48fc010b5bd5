"""From what was captured to a piece: the events in the order in which they began, in Unix time.

An operator's sequence number is the one that its thread's next node had when the operator began, if
it made a node; it is found from the numbers that operators saw when they ended.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from os import getpid  # as it is now: scripts may replace it
from typing import Any

from ..runtime.engine.node import RUNS_FIRST
from ..runtime.modelled import DeviceMemory
from ..runtime.observe.bookkeeping import as_calls
from ..trace.kinds import EventKind
from ..trace.raw_columns import Interner
from .calls import FrameTexts, encodable
from .capture import EventCapture
from .device_part import device_header, finish_device, link_calls
from .garbage import COLLECT
from .piece import PYTHON_KINDS, DevicePart, HostEvent, Piece
from .processors import threads_header
from .signatures import InputTable, describe_all
from .timeline import OpenSpans, SystemThreads, Timeline
from .worker_ranges import with_times, worker_header

# An event and the next sequence number that its thread had when it ended, where that is known.
Numbered = tuple[HostEvent, "int | None"]
# Of calls that do no work: so little time from each beginning or end to the next one that all are
# over before what follows begins.
_UNIT_NS, _NO_INPUTS = 10, describe_all(())
_external_ids = count(1)  # of all that this process records, as PyTorch's


def finish(capture: EventCapture, header: Mapping[str, Any]) -> Piece:
    """Return the piece of a capture that was stopped; `header` says what it was asked for."""
    collects = gc.isenabled()
    gc.disable()  # it would look through all events again and again, and free nothing
    try:
        return _finish(capture, header)
    finally:
        if collects:
            gc.enable()


def _finish(capture: EventCapture, header: Mapping[str, Any]) -> Piece:
    line = Timeline(capture.activity.turns, capture.start_unix_ns - capture.start_ns)
    frames, inputs = FrameTexts(capture.directory), InputTable()
    threads_of_nodes = {capture.home: 1}  # PyTorch's small number of each
    numbered = _host_events(capture, frames, inputs, threads_of_nodes)
    _number(numbered, capture)
    events = [event for event, _ in numbered]
    arrows, forward_lines = _link(events, capture, frames, threads_of_nodes)
    starts, ends = line.of([e.start_ns for e in events]), line.of([e.end_ns for e in events])
    for event, start, end in zip(events, starts, ends, strict=True):
        event.start_ns, event.end_ns = start, end
    threads = SystemThreads(capture.native_ids, events)
    memory = list(_memory(capture, line, threads))
    external_ids = [0 if e.kind in PYTHON_KINDS else next(_external_ids) for e in events]
    device = DevicePart()
    if capture.devices:
        device = finish_device(capture.activity, line.unix_ns, threads)
        link_calls(device, events, external_ids)
    others = [each.ident for some in (memory, device.calls) for each in some]
    tids = dict.fromkeys([*(event.tid for event in events), *others])
    start, end = line.of([capture.start_ns, capture.end_ns])
    batches = with_times(sorted(capture.worker_batches, key=lambda batch: batch.start_ns), line.of)
    names = {t: encodable(capture.thread_names.get(t, f"thread {t}")) for t in tids}
    modules = {
        f"{kind}_{number}": identity
        for kind, numbers in capture.module_numbers.items()
        for identity, number in numbers.items()
    }
    return Piece(
        events=events,
        external_ids=external_ids,
        inputs=inputs.texts,
        memory=memory,
        arrows=arrows,
        thread_names=names,
        start_ns=start,
        end_ns=end,
        pid=getpid(),
        device=device,
        forward_lines=forward_lines,
        header={
            **device_header(capture.device_properties),
            **worker_header(batches),
            **threads_header(),
            **header,
        },
        worker_batches=batches,
        modules=modules,
    )


def _memory(
    capture: EventCapture, line: Timeline, threads: SystemThreads
) -> Iterator[DeviceMemory]:
    """Changes of memory; of the host's, which no allocator reserves, what is in them is known."""
    if capture.memory is None:
        return
    changes, held = sorted(capture.memory.changes), 0
    times = line.of([time_ns for time_ns, *_ in changes])
    for time_ns, (_, ident, address, nbytes, failed) in zip(times, changes, strict=True):
        held += 0 if failed else nbytes
        thread = threads.at(ident, time_ns)
        yield DeviceMemory(time_ns, thread, -1, address, nbytes, held, 0, failed)
    on_devices = capture.activity.memory if capture.devices else ()
    for change in sorted(on_devices, key=lambda change: change.time_ns):
        time_ns = change.time_ns + line.unix_ns
        yield change._replace(time_ns=time_ns, ident=threads.at(change.ident, time_ns))


def _host_events(
    capture: EventCapture, frames: FrameTexts, inputs: InputTable, threads_of_nodes: dict[int, int]
) -> list[Numbered]:
    """All events by start, with times as captured; threads that made nodes are numbered."""
    latest = {ident: tids[-1] for ident, tids in capture.native_ids.items()}
    found: list[Numbered] = []
    for record in list(capture.records):  # their layouts are in capture.py
        match record:
            case (tree, start, tid, next_nr):
                for name, begins, ends in as_calls(tree):
                    first, last = (start + n * _UNIT_NS for n in (begins, ends))
                    event = HostEvent(EventKind.TorchOp, name, first, last, tid)
                    event.inputs_id = inputs.number(_NO_INPUTS if capture.shapes else None)
                    found.append((event, next_nr))
            case (name, start, end, tid, next_nr, place):
                event = HostEvent(EventKind.Annotation, encodable(name), start, end, tid)
                event.call_stack = frames.of(place)
                found.append((event, next_nr))
            case (name, start, end, tid, next_nr, place, signature):
                event = HostEvent(EventKind.TorchOp, name, start, end, tid)
                event.call_stack, event.inputs_id = frames.of(place), inputs.number(signature)
                found.append((event, next_nr))
            case (name, start, applied, end, tid, next_nr, sequence_nr, forward, signature):
                forward = latest.get(forward, forward)
                small = threads_of_nodes.setdefault(forward, len(threads_of_nodes) + 1)
                link = (-1 if sequence_nr == RUNS_FIRST else sequence_nr), small
                # The node's own part is the first to end; outside of it is the engine's.
                applied = max(min(applied, end - 1), start)
                own = HostEvent(EventKind.TorchOp, name, start, applied, tid, *link)
                own.inputs_id = inputs.number(signature)
                outer = f"autograd::engine::evaluate_function: {name}"
                engine = HostEvent(EventKind.TorchOp, outer, start, end, tid, *link)
                found += ((own, None), (engine, next_nr))
    found.reverse()
    found += [(event, None) for event in _python_events(capture, frames)]
    # Of those that begin at one time the longest is outermost, or the last to be kept.
    found.sort(key=lambda pair: (pair[0].start_ns, -pair[0].end_ns))
    return found


def _python_events(capture: EventCapture, frames: FrameTexts) -> Iterable[HostEvent]:
    """Calls of Python functions and `gc.collect()`; those that still run end with the capture."""
    for start, end, tid, place in capture.garbage.records:
        event = HostEvent(EventKind.PyCCall, COLLECT, start, end, tid)
        event.call_stack = frames.of(place)
        yield event
    last_ns = capture.end_ns
    for record in sorted(capture.python_records, key=lambda record: record[1]):
        code, start, end, tid, module, place = record
        if start > last_ns:
            return
        event = HostEvent(EventKind.PyCall, "", start, min(end, last_ns), tid)
        event.call_stack = frames.of(place)
        if code is None:
            event.name = event.call_stack
        elif module is None:
            event.name = frames.function(code)
        else:
            kind, identity = module
            event.module_id = capture.module_numbers.setdefault(kind, Interner())[identity]
            event.name = encodable(f"nn.Module: {kind}_{event.module_id}")
        yield event


def _number(events: list[Numbered], capture: EventCapture) -> None:
    """Give each operator that made a node the sequence number of the first one it made."""
    seen: dict[int, list[tuple[int, int]]] = {}  # thread: (end of an event, next number then)
    for event, next_nr in events:
        if next_nr is not None:
            seen.setdefault(event.tid, []).append((event.end_ns, next_nr))
    for pairs in seen.values():
        pairs.sort()
    for event, next_nr in events:
        if next_nr is None or event.kind != EventKind.TorchOp or event.forward_thread:
            continue
        pairs = seen[event.tid]
        before = bisect_left(pairs, (event.start_ns + 1, 0)) - 1
        if before >= 0:
            number = pairs[before][1]
        elif event.tid == capture.home:
            number = capture.home_sequence_nr
        elif event.tid not in capture.known_idents:
            number = 0  # a thread begins with it
        else:
            continue
        if next_nr > number:
            event.sequence_nr = number


def _link(
    events: list[HostEvent],
    capture: EventCapture,
    frames: FrameTexts,
    threads_of_nodes: Mapping[int, int],
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], str]]:
    """Arrows from forward to backward, along which the lines of calls go too.

    The second answer has the lines of what made nodes, by thread and sequence number: a piece that
    goes on where this one was cut has their backward. Where several forward operators share a
    number (`aten::linear`, `aten::t` within it) the last to begin made the node (PyTorch PR
    #62553).
    """
    forward: dict[tuple[int, int], int] = {}  # thread and sequence number: index
    arrows: list[tuple[int, int]] = []
    tid_of = {small: tid for tid, small in threads_of_nodes.items()}
    taken: set[int] = set()  # forward events: each has one arrow, to the first backward
    backwards: dict[int, list[tuple[int, int, str]]] = {}
    for tid, start, end, place in list(capture.backwards):
        backwards.setdefault(tid, []).append((start, end, frames.of(place)))
    # Within a backward: the line of its call, of a node's forward, or of what a node or a hook of
    # the user's calls; the innermost counts.
    lines = {tid: OpenSpans(sorted(calls)) for tid, calls in backwards.items()}
    for index, event in enumerate(events):
        if event.kind != EventKind.TorchOp:
            continue
        around = lines[event.tid].innermost(event.start_ns) if event.tid in lines else None
        event.call_stack = own = event.call_stack or around or ""
        if event.forward_thread:
            key = tid_of.get(event.forward_thread, -1), event.sequence_nr
            source = forward.get(key)
            if source is None:
                own = capture.forward_lines.get(key, "")
                if not own:
                    continue
            else:
                own = events[source].call_stack
                engine = event.name.startswith("autograd::engine::")
                if not engine and source not in taken:
                    taken.add(source)
                    arrows.append((source, index))
        elif event.sequence_nr >= 0:
            forward[event.tid, event.sequence_nr] = index
        event.call_stack = own
        if around is not None and (own or event.forward_thread):
            lines[event.tid].add(event.end_ns, own)
    known = {key: events[index].call_stack for key, index in forward.items()}
    return arrows, known if capture.stacks else {}
