"""A piece of tidy's own profiler with the times that its events get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ..profiler.kineto import SPAN_TRACK
from ..profiler.piece import Piece
from ..trace.raw_columns import Track
from .time_map import TimeMap


def retimed(piece: Piece, later_ns: int, times: TimeMap) -> Piece:
    """The piece with other times; those of the recording are `later_ns` later in `times`."""

    def moved(events: Sequence[Any], tracks: Sequence[Track], field: str) -> list[int]:
        found = np.array([getattr(each, field) for each in events], np.int64) + later_ns
        by_track: dict[Track, list[int]] = {}
        for index, track in enumerate(tracks):
            by_track.setdefault(track, []).append(index)
        for track, some in by_track.items():
            found[some] = times.of(track, found[some])
        changed: list[int] = found.tolist()
        return changed

    def spans(events: Sequence[Any], tracks: Sequence[Track]) -> list[Any]:
        starts, ends = (moved(events, tracks, field) for field in ("start_ns", "end_ns"))
        return [
            _replaced(each, start_ns=start, end_ns=end)
            for each, start, end in zip(events, starts, ends, strict=True)
        ]

    def changes(events: Sequence[Any]) -> list[Any]:
        tracks = [Track(piece.pid, each.ident) for each in events]
        new = moved(events, tracks, "time_ns")
        return [each._replace(time_ns=time) for each, time in zip(events, new, strict=True)]

    device = piece.device
    (start_ns,), (end_ns,) = (moved([piece], [SPAN_TRACK], name) for name in ("start_ns", "end_ns"))
    return msgspec.structs.replace(
        piece,
        events=spans(piece.events, [Track(piece.pid, each.tid) for each in piece.events]),
        memory=changes(piece.memory),
        device=msgspec.structs.replace(
            device,
            calls=spans(device.calls, [Track(piece.pid, each.ident) for each in device.calls]),
            work=spans(device.work, [Track(each.device, each.stream) for each in device.work]),
            shadows=spans(device.shadows, [Track(e.device, e.stream) for e in device.shadows]),
            memory=changes(device.memory),
        ),
        start_ns=start_ns,
        end_ns=end_ns,
    )


def _replaced(event: Any, **changed: int) -> Any:
    if isinstance(event, tuple):
        return event._replace(**changed)  # type: ignore[attr-defined]
    return msgspec.structs.replace(event, **changed)
