"""Whatever the events, and however another program wrote them again, the same events are read."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import tidy.readers.container
import tidy.readers.event_text
from tidy.errors import TraceFormatError
from tidy.readers.chrome import read_chrome_trace
from tidy.trace import Trace

CATEGORIES = ("cpu_op", "user_annotation", "python_function", "kernel", "cuda_runtime", "Trace")
TEXTS = st.text(max_size=12) | st.text(alphabet='{}[]",:\\phX \n', max_size=20)
NUMBERS = st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
ANYTHING = st.recursive(
    SCALARS | st.just({"ph": "X", "name": "inner", "ts": 1}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.dictionaries(TEXTS.map("own {}".format), ANYTHING, max_size=3)
TIMES_NS = st.integers(1000, 2**52)


@st.composite
def written_events(draw: st.DrawFn) -> dict[str, Any]:
    """An event with its keys in any order."""
    written = {
        "ph": "X",
        "cat": draw(st.sampled_from(CATEGORIES)),
        "name": draw(TEXTS),
        "pid": draw(st.integers(0, 9) | TEXTS),
        "tid": draw(st.integers(-5, 2**40) | TEXTS),
        "ts": draw(TIMES_NS) / 1000,
        "dur": draw(st.integers(0, 10**12)) / 1000,
    }
    if draw(st.booleans()):
        written["args"] = draw(st.dictionaries(TEXTS, ANYTHING, max_size=3))
    return dict(draw(st.permutations(sorted(written.items()))))


LAYOUTS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from((None, 0, 1, 4)),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from((None, (",", ":"), (" , ", " : "))),
    }
)


def read(content: bytes) -> Trace:
    trace = read_chrome_trace(io.BytesIO(content), "file")
    trace.self_check()
    return trace


def problem_of(content: bytes) -> str:
    """What a file is refused with, or ""."""
    try:
        read(content)
    except TraceFormatError as error:
        return str(error)
    return ""


def expected(events: Sequence[Mapping[str, Any]]) -> Counter[Any]:
    return Counter(
        (
            e["name"],
            round(e["ts"] * 1000),
            round(e["dur"] * 1000),
            _plain(e["pid"]),
            _plain(e["tid"]),
        )
        for e in events
    )


def _plain(identity: int | str) -> int | str:
    is_number = isinstance(identity, str) and identity.isdecimal()
    return int(identity) if is_number else identity


def found_in(trace: Trace) -> Counter[Any]:
    return Counter((e.name, e.start_ns, e.duration_ns, *e.track) for e in trace.events())


@given(st.lists(written_events(), min_size=1, max_size=8), HEADERS, LAYOUTS, st.booleans())
def test_any_events_in_any_layout(
    events: list[dict[str, Any]], header: dict[str, Any], layout: dict[str, Any], bare: bool
) -> None:
    text = json.dumps(events if bare else {**header, "traceEvents": events}, **layout)
    trace = read(text.encode("utf-8", "surrogatepass"))
    assert found_in(trace) == expected(events)


@given(st.lists(written_events(), min_size=1, max_size=20), HEADERS, LAYOUTS, st.integers(1, 400))
def test_any_size_of_blocks(
    events: list[dict[str, Any]], header: dict[str, Any], layout: dict[str, Any], nbytes: int
) -> None:
    text = json.dumps({"traceEvents": events, **header}, **layout).encode()
    before = tidy.readers.container.BLOCK_NBYTES, tidy.readers.event_text.PIECE_NBYTES
    tidy.readers.container.BLOCK_NBYTES = tidy.readers.event_text.PIECE_NBYTES = nbytes
    try:
        trace = read(text)
    finally:
        tidy.readers.container.BLOCK_NBYTES, tidy.readers.event_text.PIECE_NBYTES = before
    assert found_in(trace) == expected(events)


@given(
    st.binary(max_size=300),
    st.sampled_from((b"", b"{", b"[", b'{"traceEvents":[', b"\x1f\x8b", b"PK\3\4")),
)
def test_any_bytes_are_a_trace_or_refused(content: bytes, start: bytes) -> None:
    assert "\n" not in problem_of(start + content)


@given(st.lists(written_events(), min_size=1, max_size=4), st.data())
def test_any_cut_or_flipped_bit(events: list[dict[str, Any]], data: st.DataObject) -> None:
    text = bytearray(json.dumps({"traceEvents": events, "traceName": "t"}).encode())
    if data.draw(st.booleans()):
        text = bytearray(gzip.compress(text))
    text[data.draw(st.integers(0, len(text) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert "\n" not in problem_of(bytes(text[: data.draw(st.integers(0, len(text)))]))
