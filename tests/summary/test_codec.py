"""Summaries come out of their files as they went in, or are refused in one line."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.errors import TraceFormatError
from tidy.jobs import Collectives, ProcessGroup
from tidy.summary import Summary, decode, encode, is_summary, summarise
from tidy.summary.form import SummaryForm
from tidy.trace import Intervals, LeftOut, Step, Window

from ..environment import ROOT
from ..report.making import finding, report, trace
from .making import document, example, forms, packed

_MUTATIONS = 400
_COLUMNS = (
    "step group seq operation nbytes start_ns end_ns launch_ns source target exposed_ns".split()
)
_VALUES: list[Any] = [
    None, True, -1, 0, 1, -5, 2**62 - 1, 2**63, 2**70, 1.5, -0.5, 1e308, -1e308,
    "", "x", "\x1b[31m", "\ud800", "A" * 8, [], {}, [1], ["x"], {"a": 1},
]  # fmt: skip


def _same(summary: Summary) -> Summary:
    return decode(encode(summary), "kept")


def test_an_example_is_kept() -> None:
    kept = _same(example())
    assert kept == example()
    assert kept.source is None
    assert forms([kept]) == forms([example()])
    assert encode(kept) == encode(example())
    assert is_summary(encode(example())[:512])
    assert len(encode(example())) < 20_000


def test_the_document_has_the_fields_of_a_summary() -> None:
    """But for the trace that it was made of; the window stands once, beside those that share it."""
    of_summary = {each.name for each in fields(Summary)} - {"source"}
    assert set(SummaryForm.__struct_fields__) == of_summary | {"tidy_summary", "tool", "window"}


def test_it_is_what_the_schema_says() -> None:
    schema = json.loads((ROOT / "docs" / "summary.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document(example()))


def test_a_file_that_was_unpacked_is_one_too() -> None:
    text = gzip.decompress(encode(example()))
    assert is_summary(text[:64])
    assert decode(text, "kept") == example()


def test_a_name_that_is_no_utf8_is_kept() -> None:
    made = summarise(report(finding(), run=trace(path="caf\udce9.json")))
    assert _same(made).run.path == "caf\udce9.json"


class _Said(str):
    """A text of a rule's own."""


def test_texts_and_numbers_of_a_kind_of_their_own_are_kept() -> None:
    said = finding(message=_Said("odd"), cost_share=np.float64(0.5))
    for path in ("t.json", "caf\udce9.json"):
        (kept,) = _same(summarise(report(said, run=trace(path=path)))).findings
        assert (kept.message, kept.cost_share) == ("odd", 0.5)


_NUMBERS = st.integers(-(2**62) + 1, 2**62 - 1)


_GROUPS = st.builds(ProcessGroup, st.text(max_size=8), st.sampled_from([(), (0, 3)]))


@given(
    st.lists(st.tuples(*[_NUMBERS] * 9, st.booleans()), max_size=20),
    st.lists(_GROUPS, min_size=1, max_size=3),
    st.data(),
)
def test_columns_are_kept(
    rows: list[tuple[int, ...]], groups: list[ProcessGroup], data: st.DataObject
) -> None:
    step, seq, nbytes, start_ns, end_ns, launch_ns, source, target, exposed_ns, on_device = (
        np.array(rows, np.int64).reshape(-1, 10).T
    )
    of_group = [data.draw(st.integers(-1, len(groups) - 1)) for _ in rows]
    of_operation = [data.draw(st.integers(0, 1)) for _ in rows]
    made = Collectives(
        rank=3,
        step=step,
        group=np.array(of_group, np.int64),
        seq=seq,
        operation=np.array(of_operation, np.int64),
        nbytes=nbytes,
        start_ns=start_ns,
        end_ns=end_ns,
        launch_ns=launch_ns,
        on_device=on_device != 0,
        source=source,
        target=target,
        exposed_ns=exposed_ns,
        groups=tuple(groups),
        operations=("c10d::allreduce_", "c10d::send"),
        world_size=8,
    )
    kept = _same(replace(example(), collectives=made)).collectives
    assert kept == made
    assert kept.on_device.dtype == bool


@pytest.mark.parametrize(("name", "number"), [("group", 1), ("group", -2), ("operation", -1)])
def test_collectives_without_a_name_are_refused(name: str, number: int) -> None:
    none = np.zeros(1, np.int64)
    columns = dict.fromkeys(_COLUMNS, none) | {"on_device": none != 0}
    columns[name] = np.array([number], np.int64)
    made = Collectives(rank=0, **columns, groups=(ProcessGroup("0"),), operations=("send",))
    with pytest.raises(TraceFormatError, match=f"collectives without {name}"):
        _same(replace(example(), collectives=made))


def test_many_collectives_take_little() -> None:
    """20,000 of a rank, with times as uneven as those of kernels, are below 400 kB."""
    count, chosen = 20_000, np.random.default_rng(3)
    number, lasts_ns = np.arange(count), chosen.integers(5_000, 400_000, count)
    start_ns = 10**18 + np.cumsum(chosen.integers(400_000, 2_000_000, count))
    none = np.full(count, -1)
    made = Collectives(
        rank=0,
        step=number // 100,
        group=number % 2,
        seq=number // 2,
        operation=number % 3,
        nbytes=chosen.choice([4, 1 << 20, 25 << 20, 7_077_888], count),
        start_ns=start_ns,
        end_ns=start_ns + lasts_ns,
        launch_ns=start_ns - chosen.integers(5_000, 3_000_000, count),
        on_device=none < 0,
        source=none,
        target=none,
        exposed_ns=chosen.integers(0, lasts_ns),
        groups=(ProcessGroup("0"), ProcessGroup("1")),
        operations=("nccl:all_reduce", "nccl:all_gather", "nccl:reduce_scatter"),
    )
    kept = encode(replace(example(), collectives=made))
    assert decode(kept, "kept").collectives == made
    assert len(kept) < 400_000


@given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS, _NUMBERS), max_size=20),
    st.booleans(),
    st.sampled_from(["step", "round", "run"]),
)
def test_windows_are_kept(rows: list[tuple[int, int, int]], are_behind: bool, unit: str) -> None:
    steps = tuple(Step(number, *sorted(ends)) for number, *ends in rows)
    ranges = tuple((step.start_ns, step.end_ns) for step in steps)
    time = Intervals(*np.array(ranges, np.int64).reshape(-1, 2).T)
    others = tuple(LeftOut("a step", *ends, "why", Step(1, *ends)) for ends in ranges[:2])
    window = Window(steps, time, others, unit, ranges if are_behind else None)
    run = replace(example().run, window=window)
    accounts = tuple(replace(each, window=window) for each in example().accounts)
    made = replace(example(), run=run, accounts=accounts)
    assert _same(made) == made


def test_a_later_version_is_refused_with_what_to_do() -> None:
    for version in (2, 10**9):
        with pytest.raises(TraceFormatError, match="update tidy") as refused:
            decode(packed({"tidy_summary": version, "anything": "else"}), "a.tidy.json.gz")
        assert "\n" not in str(refused.value)
        assert f"version {version}" in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1f\x8b",
        b"{",
        encode(example())[:-200],
        encode(example())[:40],
        encode(example())[:30] + bytes(40) + encode(example())[70:],
        gzip.compress(b"[" * 100_000),
        gzip.compress(b"\xff\xfe"),
        packed([]),
        packed({"tidy_summary": 1}),
        packed({"tidy_summary": "1"}),
        packed({"tidy_summary": -1}),
        packed({}),
    ],
    ids=[
        "empty", "two-bytes", "no-gzip", "cut", "cut-early", "zeros-inside", "deep", "no-text",
        "list", "version-alone", "version-as-text", "version-below", "no-version",
    ],
)  # fmt: skip
def test_damaged_files_are_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(TraceFormatError, match="summary") as refused:
        decode(content, "a.tidy.json.gz")
    assert "\n" not in str(refused.value)


def test_what_unpacks_to_no_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidy.summary.codec._MOST_NBYTES", 1 << 16)
    with pytest.raises(TraceFormatError, match="a summary of more than"):
        decode(gzip.compress(b" " * (1 << 20)), "a.tidy.json.gz")


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key in keys:
        yield from _paths(value[key], (*path, key))


def test_whatever_a_value_is_the_report_is_made_or_the_file_refused() -> None:
    """One value of a document at a time becomes another, of its type or not, or goes."""
    chosen, whole = random.Random(4), document(example())  # noqa: S311 - to repeat it
    paths = [path for path in _paths(whole) if path]
    read = 0
    for _ in range(_MUTATIONS):
        changed = json.loads(json.dumps(whole))
        _change(changed, chosen.choice(paths), chosen)
        summary, problem = _decoded(packed(changed))
        assert "\n" not in problem
        if summary is not None:
            assert forms([summary])
            read += 1
    assert _MUTATIONS // 10 < read < _MUTATIONS - _MUTATIONS // 10


def _change(document: Any, path: tuple[Any, ...], chosen: random.Random) -> None:
    for key in path[:-1]:
        document = document[key]
    old, key = document[path[-1]], path[-1]
    alike = [value for value in _VALUES if type(value) is type(old)]
    if chosen.random() < 0.1:
        del document[key]
    else:
        document[key] = chosen.choice(alike if alike and chosen.random() < 0.6 else _VALUES)


def _decoded(content: bytes) -> tuple[Summary | None, str]:
    try:
        return decode(content, "a.tidy.json.gz"), ""
    except TraceFormatError as error:
        return None, str(error)
