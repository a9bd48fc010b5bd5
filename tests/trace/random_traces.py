"""Traces of random events, for tests of what must hold on every trace."""

from __future__ import annotations

from hypothesis import strategies as st

from tidy.trace import EventKind, RawColumns, Trace, TraceInfo, Track, build_trace

_HOST = (EventKind.TorchOp, EventKind.Annotation, EventKind.PyCall, EventKind.PyCCall)


@st.composite
def host_traces(draw: st.DrawFn) -> Trace:
    """Up to 24 host events on up to three threads, some of them backward ops of another thread.

    The clock has so few instants that ties, zero durations and overlaps are the rule.
    """
    raw = RawColumns()
    indexed = draw(st.booleans())
    threads = draw(st.integers(1, 3))
    for i in range(draw(st.integers(0, 24))):
        thread = draw(st.integers(0, threads - 1))
        forward_thread = draw(st.sampled_from((0, 0, 1, 2)))
        raw.append(
            1,
            name_id=[raw.strings.names[draw(st.sampled_from("abcde"))]],
            kind=[draw(st.sampled_from(_HOST))],
            start_ns=[draw(st.integers(0, 12)) * threads + thread],
            duration_ns=[draw(st.integers(0, 20))],
            track_id=[raw.strings.tracks[Track(1, thread)]],
            tie=[i if indexed else -1],
            sequence_nr=[draw(st.integers(-1, 3))],
            forward_thread=[forward_thread],
        )
    return build_trace(raw, TraceInfo("random"))
