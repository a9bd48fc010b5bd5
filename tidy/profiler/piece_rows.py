"""From pieces to the columns of a `Trace`, without a file between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..runtime.modelled import DeviceWork
from ..trace import Trace
from ..trace.build import build_trace
from ..trace.info import TraceInfo
from ..trace.kinds import EventKind
from ..trace.raw_columns import RawColumns
from .device_part import HAS_NBYTES, KIND_OF_WORK
from .piece import Piece, Shadow
from .worker_ranges import append_worker_ranges


def to_trace(piece: Piece, header: Mapping[str, Any]) -> Trace:
    """Return the trace that reading the exported file gives, with the same events in the
    same tree.
    """
    raw = RawColumns()
    append_piece(raw, piece)
    return build_trace(raw, TraceInfo(header=dict(header)))


def append_piece(raw: RawColumns, piece: Piece, later_ns: int = 0, first: int = 0) -> None:
    """Append the rows of a piece.

    Args:
        later_ns: is added to all times.
        first: is added to the numbers that begin anew in each piece: Ev Idx, and those of arrows.
    """
    _append_events(raw, piece, later_ns, first)
    _append_device(raw, piece, later_ns)
    _append_memory(raw, piece, later_ns)
    _append_arrows(raw, piece, later_ns, first)
    append_worker_ranges(raw, piece.pid, piece.worker_batches, later_ns)


def _append(raw: RawColumns, later_ns: int, events: Sequence[Any], **columns: Any) -> None:
    starts = np.array([each.start_ns for each in events], np.int64)
    durations = np.array([each.end_ns for each in events], np.int64) - starts
    columns |= {"start_ns": starts + later_ns, "duration_ns": durations}
    raw.append(len(events), name_id=[raw.strings.names[e.name] for e in events], **columns)


def _append_events(raw: RawColumns, piece: Piece, later_ns: int, first: int) -> None:
    strings, events = raw.strings, piece.events
    texts = ([strings.texts[text.encode()] for text in each] for each in piece.inputs)
    inputs = [*(strings.signatures[tuple(each)] for each in texts), -1]  # the last is for none
    _append(
        raw,
        later_ns,
        events,
        kind=[e.kind for e in events],
        track_id=[strings.tracks[piece.pid, e.tid] for e in events],
        tie=np.arange(first, first + len(events)),
        external_id=piece.external_ids,
        sequence_nr=[e.sequence_nr for e in events],
        forward_thread=[e.forward_thread for e in events],
        inputs_id=[inputs[e.inputs_id] for e in events],
        stack_id=[strings.stacks[e.call_stack] if e.call_stack else -1 for e in events],
    )


def _append_device(raw: RawColumns, piece: Piece, later_ns: int) -> None:
    tracks, device = raw.strings.tracks, piece.device

    def launched(events: Sequence[Any]) -> dict[str, Any]:
        correlations = [each.correlation for each in events]
        ids = [device.external_ids.get(correlation, 0) for correlation in correlations]
        return {"correlation": correlations, "external_id": ids}

    def on_stream(events: Sequence[DeviceWork | Shadow]) -> dict[str, Any]:
        return {
            "track_id": [tracks[each.device, each.stream] for each in events],
            "device": [each.device for each in events],
            "stream": [each.stream for each in events],
        }

    calls, work, shadows = device.calls, device.work, device.shadows
    track_id = [tracks[piece.pid, call.ident] for call in calls]
    kinds = [KIND_OF_WORK[each.kind] for each in work]
    nbytes = [each.nbytes if each.kind in HAS_NBYTES else 0 for each in work]
    ids = [shadow.external_id for shadow in shadows]
    shadow_kind = EventKind.DeviceAnnotation
    _append(raw, later_ns, calls, kind=EventKind.Runtime, track_id=track_id, **launched(calls))
    _append(raw, later_ns, work, kind=kinds, nbytes=nbytes, **launched(work), **on_stream(work))
    _append(raw, later_ns, shadows, kind=shadow_kind, external_id=ids, **on_stream(shadows))


def _append_memory(raw: RawColumns, piece: Piece, later_ns: int) -> None:
    changes, names, tracks = piece.memory, raw.strings.names, raw.strings.tracks
    lacking = [change.out_of_memory for change in changes]
    first = raw.row_count
    raw.append(
        len(changes),
        name_id=[names["[OutOfMemory]" if lacks else "[memory]"] for lacks in lacking],
        kind=[EventKind.OutOfMemory if lacks else EventKind.Allocation for lacks in lacking],
        start_ns=np.array([change.time_ns for change in changes], np.int64) + later_ns,
        track_id=[tracks[piece.pid, change.ident] for change in changes],
        nbytes=[change.nbytes for change in changes],
        device=[change.device for change in changes],
    )
    raw.append_memory(
        np.arange(first, first + len(changes)),
        address=[change.address for change in changes],
        allocated_nbytes=[change.allocated_nbytes for change in changes],
        reserved_nbytes=[change.reserved_nbytes for change in changes],
    )


def _append_arrows(raw: RawColumns, piece: Piece, later_ns: int, first: int) -> None:
    events, arrows = piece.events, enumerate(piece.arrows, first + 1)
    ends = [(n, events[i], is_end) for n, pair in arrows for is_end, i in enumerate(pair)]
    raw.append_flows(
        flow_id=[number for number, _, _ in ends],
        category_id=np.zeros(len(ends)),
        is_end=[is_end for _, _, is_end in ends],
        is_backward=np.ones(len(ends), bool),
        track_id=[raw.strings.tracks[piece.pid, event.tid] for _, event, _ in ends],
        time_ns=np.array([event.start_ns for _, event, _ in ends], np.int64) + later_ns,
    )
