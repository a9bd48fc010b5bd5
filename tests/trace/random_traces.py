"""Traces of random events, for tests of what must hold on every trace."""

from __future__ import annotations

from hypothesis import strategies as st

from tidy.trace import EventKind, RawColumns, Trace, TraceInfo, Track, build_trace

from ..drawn import choices

_HOST = (EventKind.TorchOp, EventKind.Annotation, EventKind.PyCall, EventKind.PyCCall)


@st.composite
def host_traces(draw: st.DrawFn) -> Trace:
    """Up to 24 host events on up to three threads, some of them backward ops of another thread.

    The clock has so few instants that ties, zero durations and overlaps are the rule.
    """
    raw = RawColumns()
    indexed = draw(st.booleans())
    threads = draw(st.integers(1, 3))
    count = draw(st.integers(0, 24))
    chosen = draw(choices(7 * count))
    for i in range(count):
        thread = chosen.upto(threads - 1)
        raw.append(
            1,
            name_id=[raw.strings.names[chosen.of("abcde")]],
            kind=[chosen.of(_HOST)],
            start_ns=[chosen.upto(12) * threads + thread],
            duration_ns=[chosen.upto(20)],
            track_id=[raw.strings.tracks[Track(1, thread)]],
            tie=[i if indexed else -1],
            sequence_nr=[chosen.upto(4) - 1],
            forward_thread=[chosen.of((0, 0, 1, 2))],
        )
    return build_trace(raw, TraceInfo("random"))
