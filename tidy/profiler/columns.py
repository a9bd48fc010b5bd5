"""From a recording to a `Trace`, without a file between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..trace import Trace
from ..trace.build import build_trace
from ..trace.columns import RawColumns
from ..trace.info import TraceInfo
from ..trace.kinds import EventKind
from .inputs import Signature, texts
from .recording import RecordedEvent, Recording


def to_trace(recording: Recording, header: Mapping[str, Any]) -> Trace:
    """The trace that reading the exported file gives, with the same events in the same tree."""
    raw = RawColumns()
    if recording.events:
        _append_events(raw, recording)
    if recording.memory:
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


def _append_memory(raw: RawColumns, recording: Recording) -> None:
    memory, strings = recording.memory, raw.strings
    names = [strings.names["[OutOfMemory]" if m.out_of_memory else "[memory]"] for m in memory]
    kinds = [EventKind.OutOfMemory if m.out_of_memory else EventKind.Allocation for m in memory]
    raw.append(
        len(memory),
        name_id=names,
        kind=kinds,
        start_ns=np.array([m.time_ns for m in memory], np.int64),
        track_id=[strings.tracks[recording.pid, m.ident] for m in memory],
        nbytes=[m.nbytes for m in memory],
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
