"""Damaged files are read without what is damaged, and the warnings count it."""

from __future__ import annotations

import json

import pytest

from .conftest import Read
from .written import document, event, names, warning_count

# `indent` as in Kineto's files (None: all on one line, as other programs write them again).
INDENTS = pytest.mark.parametrize("indent", [2, None])


def three(indent: int | None) -> str:
    """Three events, the second of which has a `MARK` to put damage at."""
    events = [event("a", 1), event("b", 10, args={"x": "MARK", "y": 1}), event("c", 20)]
    return json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "t"}, indent=indent)


@INDENTS
@pytest.mark.parametrize(
    ("mark", "by", "about"),
    [
        ('"MARK"', "inf", "bare values"),
        ('"MARK"', "-inf", "bare values"),
        ('"MARK"', "nan", "bare values"),
        ('"MARK"', "-nan(ind)", "bare values"),
        ('"MARK"', "NaN", "bare values"),
        ('"MARK"', "Infinity", "bare values"),
        ('"MARK"', "N/A", "bare values"),
        ('"MARK"', "[1, inf]", "bare values"),
        ("MARK", "a\nb\tc\0d", "raw control characters"),
        ("MARK", "\x1b[1m", "raw control characters"),
        ("MARK", r"C:\Users\quiet\x.py", "stray backslashes"),
        ("MARK", r"\u12", "stray backslashes"),
        ("MARK", r"\ud800", "half a surrogate pair"),
        ("MARK", r"\udc00 \ud83d\ude00", "half a surrogate pair"),
        ('"y": 1', '"y": 1,', "commas"),
        ('"y": 1', '"z": 1, , "y": 1', "commas"),
    ],
)
def test_what_was_meant_is_plain(
    read: Read, indent: int | None, mark: str, by: str, about: str
) -> None:
    trace = read(three(indent).replace(mark, by))
    assert names(trace) == ["a", "b", "c"]
    assert warning_count(trace, about) == "1"
    assert len(trace.info.warnings) == 1
    assert trace.info.header == {"schemaVersion": 1, "traceName": "t"}


@INDENTS
def test_paths_of_windows_whose_backslashes_read_as_escapes(read: Read, indent: int | None) -> None:
    """PyTorch does not double them, so that some are a line feed or a tab for JSON."""
    text = three(indent).replace('"b"', r'"D:\proj\new\train.py(12): train_step"')
    trace = read(text.replace('"c"', r'"torch\nn\functional.py(1456): relu"'))
    meant = ["a", "D:/proj/new/train.py(12): train_step", "torch/nn/functional.py(1456): relu"]
    assert names(trace) == meant


@INDENTS
@pytest.mark.parametrize("damage", [b"\xff", b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80"])
def test_bytes_that_are_no_utf8(read: Read, indent: int | None, damage: bytes) -> None:
    trace = read(three(indent).encode().replace(b'"b"', b'"%b"' % damage))
    assert names(trace) == ["a", damage.decode("utf-8", "replace"), "c"]
    assert warning_count(trace, "no UTF-8") == str(names(trace)[1].count("\ufffd"))
    assert trace.info.header == {"schemaVersion": 1, "traceName": "t"}


@INDENTS
@pytest.mark.parametrize(
    "damage",
    ['he said "hi"', '"', 'a"b', '": "', '", "', "},", '"}}],"'],
)
def test_unescaped_quotes_cost_that_event(read: Read, indent: int | None, damage: str) -> None:
    # PyTorch 2.13 still writes the name of a range or a source file so.
    trace = read(three(indent).replace('"b"', f'"{damage}"').replace("MARK", f"{damage}"))
    found = names(trace)
    assert [name for name in found if name in "abc"] == ["a", "c"]
    assert len(found) == 2 or damage == "},"
    if len(found) == 2:
        assert warning_count(trace, "damaged events") == "1"
    assert trace.info.header == {"schemaVersion": 1, "traceName": "t"}


@INDENTS
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"dur": 5', '"dur" 5'),
        ('"dur": 5', '"dur": '),
        ('"dur": 5', '"dur": 0x5'),
        ('"dur": 5', "dur: 5"),
        ('"dur": 5', '"dur: 5'),
        ('"y": 1}', '"y": 1'),
        ('"y": 1}', '"y": 1}}'),
        ('"y": 1}', '"y": 1]'),
        ('"y": 1', '"y": ' + "[" * 100_000 + "]" * 100_000),
    ],
)
def test_broken_syntax_costs_that_event(read: Read, indent: int | None, old: str, new: str) -> None:
    before, found, after = json_of_second(indent, old)
    trace = read(before + found.replace(old, new) + after)
    assert names(trace) == ["a", "c"]
    assert warning_count(trace, "damaged events") == "1"
    assert trace.info.header == {"schemaVersion": 1, "traceName": "t"}


def json_of_second(indent: int | None, old: str) -> tuple[str, str, str]:
    """The text around the second event; spaces of the indented form are taken out of it."""
    text = three(indent)
    start, end = text.index('"b"'), text.index('"c"')
    start, end = text.rindex("{", 0, start), text.rindex("{", 0, end)
    second = json.dumps(json.loads(text[start:end].rstrip().rstrip(",")))
    assert old in second
    return text[:start], second, "," + text[end:]


@pytest.mark.parametrize("between", ["", " ", ",,", ", ,\n,"])
def test_commas_between_events_do_not_matter(read: Read, between: str) -> None:
    events = between.join(json.dumps(event(name, ts)) for name, ts in (("a", 1), ("b", 9)))
    trace = read(f'{{"traceEvents": [{events}{between}]}}')
    assert names(trace) == ["a", "b"]
    assert trace.info.warnings == []


def test_every_event_damaged_but_one(read: Read) -> None:
    events = [event('say "no"' if n != 500 else "yes", n) for n in range(1000)]
    text = document(events).replace(r"\"", '"')
    trace = read(text)
    assert names(trace) == ["yes"]
    assert warning_count(trace, "damaged events") == "999"


def test_mended_values_in_every_event_are_counted(read: Read) -> None:
    text = document([event(f"op{n}", n, args={"x": "MARK"}) for n in range(1000)])
    trace = read(text.replace('"MARK"', "N/A"))
    assert len(trace) == 1000
    assert warning_count(trace, "bare values") == "1,000"


@INDENTS
def test_a_file_cut_anywhere_keeps_the_events_before(read: Read, indent: int | None) -> None:
    text = three(indent)
    ends = [text.rindex("}", 0, text.index(mark)) for mark in ('"b"', '"c"', "]")]
    for cut in range(ends[0] + 1, len(text) - 1):
        trace = read(text[:cut])
        whole = sum(end < cut for end in ends)
        assert names(trace) == ["a", "b", "c"][:whole]
        assert trace.info.warnings != []
        if cut <= text.index("]"):
            assert trace.info.warnings == [f"the file is cut off after {whole} events"]


def test_a_crash_leaves_no_closing_bracket(read: Read) -> None:
    text = json.dumps([event("a", 1), event("b", 10)])
    for ending in ("", ",", ", ", ",\n  {", ', {"ph": "X", "na'):
        trace = read(text[:-1] + ending)
        assert names(trace) == ["a", "b"]
        assert trace.info.warnings == ["the file is cut off after 2 events"]
