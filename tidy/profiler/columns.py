"""From a recording to a `Trace`, without a file between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..runtime.cuda.activity import DeviceMemory
from ..trace import Trace
from ..trace.build import build_trace
from ..trace.columns import RawColumns
from ..trace.info import TraceInfo
from ..trace.kinds import EventKind
from .device import HAS_NBYTES, KIND_OF_WORK
from .inputs import Signature, texts
from .memory import Memory
from .recording import RecordedEvent, Recording


def to_trace(recording: Recording, header: Mapping[str, Any]) -> Trace:
    """The trace that reading the exported file gives, with the same events in the same tree."""
    raw = RawColumns()
    if recording.events:
        _append_events(raw, recording)
    if recording.device.calls:
        _append_calls(raw, recording)
    if recording.device.work:
        _append_work(raw, recording)
    if recording.device.shadows:
        _append_shadows(raw, recording)
    if recording.memory or recording.device.memory:
        _append_memory(raw, recording)
    if recording.arrows:
        _append_arrows(raw, recording)
    return build_trace(raw, TraceInfo(header=dict(header)))


def _append_events(raw: RawColumns, recording: Recording) -> None:
    events, strings = recording.events, raw.strings
    ids = _InputIds(raw)
    starts = np.array([e.start_ns for e in events], np.int64)
    raw.append(
        len(events),
        name_id=[strings.names[e.name] for e in events],
        kind=[e.kind for e in events],
        start_ns=starts,
        duration_ns=np.array([e.end_ns for e in events], np.int64) - starts,
        track_id=[strings.tracks[recording.pid, e.tid] for e in events],
        tie=np.arange(len(events)),
        external_id=[_external_id(n, e) for n, e in enumerate(events)],
        sequence_nr=[e.sequence_nr for e in events],
        forward_thread=[e.forward_thread for e in events],
        inputs_id=[ids.of(e) for e in events],
        stack_id=[strings.stacks[e.call_stack] if e.call_stack else -1 for e in events],
    )


def _external_id(number: int, event: RecordedEvent) -> int:
    return 0 if event.kind == EventKind.PyCall else number + 1


class _InputIds(dict[Signature, int]):
    """Numbers of signatures, as `Strings` has them."""

    def __init__(self, raw: RawColumns) -> None:
        self._strings = raw.strings

    def of(self, event: RecordedEvent) -> int:
        if event.signature is None or event.kind != EventKind.TorchOp:
            return -1
        return self[event.signature]

    def __missing__(self, signature: Signature) -> int:
        parts = [self._strings.texts[text.encode()] for text in texts(signature)]
        self[signature] = number = self._strings.signatures[tuple(parts)]
        return number


def _append_calls(raw: RawColumns, recording: Recording) -> None:
    calls, strings = recording.device.calls, raw.strings
    starts = np.array([c.start_ns for c in calls], np.int64)
    raw.append(
        len(calls),
        name_id=[strings.names[c.name] for c in calls],
        kind=EventKind.Runtime,
        start_ns=starts,
        duration_ns=np.array([c.end_ns for c in calls], np.int64) - starts,
        track_id=[strings.tracks[recording.pid, c.ident] for c in calls],
        external_id=[recording.device.external_ids.get(c.correlation, 0) for c in calls],
        correlation=[c.correlation for c in calls],
    )


def _append_work(raw: RawColumns, recording: Recording) -> None:
    work, strings = recording.device.work, raw.strings
    starts = np.array([w.start_ns for w in work], np.int64)
    raw.append(
        len(work),
        name_id=[strings.names[w.name] for w in work],
        kind=[KIND_OF_WORK[w.kind] for w in work],
        start_ns=starts,
        duration_ns=np.array([w.end_ns for w in work], np.int64) - starts,
        track_id=[strings.tracks[w.device, w.stream] for w in work],
        external_id=[recording.device.external_ids.get(w.correlation, 0) for w in work],
        correlation=[w.correlation for w in work],
        device=[w.device for w in work],
        stream=[w.stream for w in work],
        nbytes=[w.nbytes if w.kind in HAS_NBYTES else 0 for w in work],
    )


def _append_shadows(raw: RawColumns, recording: Recording) -> None:
    shadows, strings = recording.device.shadows, raw.strings
    raw.append(
        len(shadows),
        name_id=[strings.names[s.name] for s in shadows],
        kind=EventKind.DeviceAnnotation,
        start_ns=np.array([s.start_ns for s in shadows], np.int64),
        duration_ns=[s.end_ns - s.start_ns for s in shadows],
        track_id=[strings.tracks[s.device, s.stream] for s in shadows],
        external_id=[s.external_id for s in shadows],
        device=[s.device for s in shadows],
        stream=[s.stream for s in shadows],
    )


def _append_memory(raw: RawColumns, recording: Recording) -> None:
    memory: list[Memory | DeviceMemory] = [*recording.memory, *recording.device.memory]
    strings = raw.strings
    on_host = len(recording.memory)
    names = [strings.names["[OutOfMemory]" if m.out_of_memory else "[memory]"] for m in memory]
    kinds = [EventKind.OutOfMemory if m.out_of_memory else EventKind.Allocation for m in memory]
    raw.append(
        len(memory),
        name_id=names,
        kind=kinds,
        start_ns=np.array([m.time_ns for m in memory], np.int64),
        track_id=[strings.tracks[recording.pid, m.ident] for m in memory],
        nbytes=[m.nbytes for m in memory],
        device=[-1] * on_host + [m.device for m in recording.device.memory],
    )


def _append_arrows(raw: RawColumns, recording: Recording) -> None:
    ends = [(n, i, i == b) for n, (f, b) in enumerate(recording.arrows, 1) for i in (f, b)]
    events = recording.events
    raw.append_flows(
        flow_id=np.array([number for number, _, _ in ends], np.int64),
        category_id=np.zeros(len(ends)),
        is_end=[is_end for _, _, is_end in ends],
        is_backward=np.ones(len(ends), bool),
        track_id=[raw.strings.tracks[recording.pid, events[i].tid] for _, i, _ in ends],
        time_ns=np.array([events[i].start_ns for _, i, _ in ends], np.int64),
    )
