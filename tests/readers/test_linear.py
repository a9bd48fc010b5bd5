"""The worst that a file can hold ends in a report or a refusal, and takes little memory.

Each file is a megabyte or so. Work that grew with the square of that would take hours, so a
reader that does it is stopped: the limit tells hanging from slow, and nothing finer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gzip
import tracemalloc

import pytest

from tidy.errors import TraceFormatError

from ..environment import SOAK
from .conftest import Read
from .written import document, event

NBYTES = 1_500_000 if SOAK else 500_000
HANGS_S = 300
LIMIT_NBYTES = 114 * NBYTES
HEAD = b'{"schemaVersion": 1, "traceEvents": ['
OPEN = HEAD + b'{"ph": "X", "ts": 1, "name": "a"'
MANY = document([event(f"op{n}", n, args={"x": "MARK"}) for n in range(NBYTES // 130)]).encode()


def filled(unit: bytes, start: bytes = b"", end: bytes = b"") -> bytes:
    return start + unit * (NBYTES // len(unit)) + end


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(MANY.replace(b"MARK", b'a "b" c'), id="quotes in each event"),
        pytest.param(
            MANY.replace(b"MARK", b'"'), marks=pytest.mark.slow, id="one quote in each event"
        ),
        pytest.param(MANY.replace(b'"MARK"', b"inf"), id="inf in each event"),
        pytest.param(
            MANY.replace(b'"x": "MARK"', b'"Ev Idx": []'), id="a wrong type in each event"
        ),
        pytest.param(
            MANY.replace(b'"MARK"', b"[" * 2000),
            marks=pytest.mark.slow,
            id="deep nesting in each event",
        ),
        pytest.param(
            MANY.replace(b'"MARK"', b"9" * 6000),
            marks=pytest.mark.slow,
            id="a huge number in each event",
        ),
        pytest.param(filled(b'{"ph":},', HEAD), id="short events, all damaged"),
        pytest.param(
            filled(b'{"ts":inf},', HEAD), marks=pytest.mark.slow, id="short events, all to mend"
        ),
        pytest.param(
            filled(b'{"ts":""},', HEAD),
            marks=pytest.mark.slow,
            id="short events, all of a wrong type",
        ),
        pytest.param(filled(b"1,", HEAD, b"1]}"), marks=pytest.mark.slow, id="numbers"),
        pytest.param(filled(b"null,{},", HEAD), marks=pytest.mark.slow, id="nothing and objects"),
        pytest.param(filled(b"[],", b"["), marks=pytest.mark.slow, id="lists"),
        pytest.param(filled(b"},{", OPEN), marks=pytest.mark.slow, id="borders"),
        pytest.param(filled(b'},{"ph":', OPEN), id="borders of events"),
        pytest.param(filled(b'}],"a":[{', OPEN), marks=pytest.mark.slow, id="ends of lists"),
        pytest.param(filled(b"}]", OPEN), marks=pytest.mark.slow, id="closing brackets"),
        pytest.param(filled(b"}", OPEN), marks=pytest.mark.slow, id="closing braces"),
        pytest.param(
            filled(b"}" + b" " * 500, OPEN), marks=pytest.mark.slow, id="closing braces far apart"
        ),
        pytest.param(filled(b" ", OPEN + b"}"), marks=pytest.mark.slow, id="blanks"),
        pytest.param(filled(b" ,", OPEN + b"}"), marks=pytest.mark.slow, id="commas"),
        pytest.param(filled(b'"', HEAD), marks=pytest.mark.slow, id="quotes"),
        pytest.param(filled(b'\\"', OPEN + b',"x":"'), id="escaped quotes"),
        pytest.param(filled(b"\\", OPEN + b',"x":"'), marks=pytest.mark.slow, id="backslashes"),
        pytest.param(filled(b"a ", OPEN + b',"x":'), marks=pytest.mark.slow, id="words"),
        pytest.param(
            filled(b'"\n"', OPEN + b',"x":'), marks=pytest.mark.slow, id="strings with raw newlines"
        ),
        pytest.param(filled(b"["), id="opening brackets"),
        pytest.param(filled(b'{"a":'), marks=pytest.mark.slow, id="opening objects"),
        pytest.param(filled(b'{"traceEvents":['), marks=pytest.mark.slow, id="lists in lists"),
        pytest.param(
            filled(b'"traceEvents":[],', b'{"a":{'),
            marks=pytest.mark.slow,
            id="lists of the right name, nested",
        ),
        pytest.param(filled(b'"traceName":["', b'{"a""', b'"traceEvents":['), id="damaged header"),
        pytest.param(
            filled(b'"traceName":["', OPEN + b'}],"a"'),
            marks=pytest.mark.slow,
            id="damaged header at the end",
        ),
        pytest.param(
            filled(b"[],", OPEN + b'}],"a":['), marks=pytest.mark.slow, id="a header of many lists"
        ),
        pytest.param(
            gzip.compress(b"", mtime=0) * (NBYTES // 20),
            marks=pytest.mark.slow,
            id="empty gzip members",
        ),
        pytest.param(b"PK\x03\x04".ljust(30, b"\0") * (NBYTES // 30), id="empty zip members"),
    ],
)
def test_ends(read: Read, content: bytes) -> None:
    faulthandler.dump_traceback_later(HANGS_S, exit=True)
    try:
        with contextlib.suppress(TraceFormatError):
            read(content).self_check()
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(filled(b"[],", b'{"a":['), id="a header of many lists"),
        pytest.param(filled(b"[],", HEAD), id="lists"),
        pytest.param(filled(b"{},", HEAD), id="objects"),
        pytest.param(filled(b'\\"', OPEN + b',"x":"'), id="escaped quotes"),
    ],
)
def test_memory(read: Read, content: bytes) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(TraceFormatError):
            read(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LIMIT_NBYTES
