"""Where a file happens to be cut into pieces makes no difference."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tidy.readers import container, event_text, read_trace
from tidy.trace import Trace

from .conftest import Read
from .written import document, event, names, warning_count

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
# Arguments that look like the borders of events, and like the end of their list.
TRAPS: list[Any] = [
    [{"ph": "X", "name": "inner"}, {"ph": "X", "ts": 5}, {"name": "inner"}],
    '}, {"ph": "X", "name": "text"}',
    '}], "traceName": "text"',
    {"a": [{"b": [{"c": 1}]}], "d": "]}"},
    '\\"}],{"\\\\',
]


def rows(trace: Trace) -> list[Any]:
    """All that a trace holds, in an order that does not depend on how it was read."""

    def row(e: Any) -> tuple[Any, ...]:
        return (
            e.start_ns, e.duration_ns, e.name, e.kind, str(e.track), e.correlation, e.sequence_nr,
            e.nbytes, e.stream, e.device, e.input_shapes, e.input_dtypes, e.concrete_inputs,
        )  # fmt: skip

    found = [(row(e), row(e.parent) if e.parent else None) for e in trace.events()]
    return sorted(found, key=repr)


@pytest.mark.parametrize("name", ["train_cnn", "train_half"])
def test_a_real_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = EXAMPLES / f"{name}.json.gz"
    whole = read_trace(path)
    monkeypatch.setattr(container, "BLOCK_NBYTES", 4001)
    monkeypatch.setattr(event_text, "PIECE_NBYTES", 5000)
    cut = read_trace(path)
    assert rows(cut) == rows(whole)
    assert cut.info.header == whole.info.header
    assert cut.info.warnings == whole.info.warnings == []


@pytest.mark.parametrize("bare", [False, True])
def test_blanks_before_a_document(read: Read, bare: bool) -> None:
    written = document([event(f"op{n}", n) for n in range(3)])
    text = json.dumps(json.loads(written)["traceEvents"]) if bare else written
    trace = read("\n  " + text)
    assert (names(trace), trace.info.warnings) == (["op0", "op1", "op2"], [])


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("bare", [False, True])
def test_what_only_looks_like_a_border(read: Read, indent: int | None, bare: bool) -> None:
    events = [event(f"op{n}", n, args={"x": TRAPS[n % len(TRAPS)], "Ev Idx": n}) for n in range(30)]
    header = {
        "deviceProperties": [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}],
        "traceName": "t",
    }
    written = events if bare else {"schemaVersion": 1, "traceEvents": events, **header}
    trace = read(json.dumps(written, indent=indent))
    assert names(trace) == [f"op{n}" for n in range(30)]
    assert trace.info.warnings == []
    assert trace.info.header == ({} if bare else {"schemaVersion": 1, **header})


@pytest.mark.usefixtures("tiny_pieces")
def test_events_may_begin_with_any_key(read: Read) -> None:
    events = [{"mine": {"x": [{}, {}]}, **event(f"op{n}", n)} for n in range(50)]
    trace = read(document(events))
    assert names(trace) == [f"op{n}" for n in range(50)]
    assert trace.info.warnings == []


@pytest.mark.usefixtures("tiny_pieces")
def test_damage_costs_no_more_than_in_one_piece(read: Read) -> None:
    events = [event(f'a "{n}"' if n % 7 == 3 else f"op{n}", n, args={"x": n}) for n in range(70)]
    text = document(events, traceName="t").replace(r"\"", '"').replace('"x": 12', '"x": inf')
    trace = read(text)
    assert names(trace) == [f"op{n}" for n in range(70) if n % 7 != 3]
    assert warning_count(trace, "damaged events") == "10"
    assert warning_count(trace, "bare values") == "1"
    assert trace.info.header == {"traceName": "t"}


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("cut", [0.4, 0.9])
def test_a_cut_off_file(read: Read, cut: float) -> None:
    text = document([event(f"op{n}", n) for n in range(200)])
    text = text[: int(cut * len(text))]
    trace = read(text)
    assert names(trace) == [f"op{n}" for n in range(text.count("}"))]
    assert trace.info.warnings == [f"the file is cut off after {len(trace)} events"]


@pytest.mark.usefixtures("tiny_pieces")
def test_a_long_tail(read: Read) -> None:
    more = {"metadata": [{"id": n, "name": "x"} for n in range(300)]}
    text = document([event("a", 1), event("b", 2)])
    trace = read(text[:-1] + ", " + json.dumps(more)[1:])
    assert names(trace) == ["a", "b"]
    assert trace.info.header == more


def test_an_event_longer_than_a_piece(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "BLOCK_NBYTES", 1000)
    monkeypatch.setattr(event_text, "PIECE_NBYTES", 1000)
    long = "x" * 100_000
    trace = read(document([event("a", 1), event(long, 2), event("c", 3), event(long, 4)]))
    assert names(trace) == ["a", long, "c", long]


def test_an_event_of_many_megabytes_is_lost_alone(read: Read) -> None:
    text = document([event("a", 1), event("MARK", 2), event("c", 3)])
    trace = read(text.replace("MARK", "abc " * 6_000_000))
    assert names(trace) == ["a", "c"]
    assert trace.info.warnings != []


def test_memory_follows_the_columns_not_the_file(tmp_path: Path) -> None:
    args = {"notes": "x" * 10_000}
    path = tmp_path / "t.json"
    path.write_text(document([event(f"op{n}", n, args=args) for n in range(4000)]), "utf-8")
    assert path.stat().st_size > 40_000_000
    tracemalloc.start()
    read_trace(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000
