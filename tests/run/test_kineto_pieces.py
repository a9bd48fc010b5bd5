"""Pieces that PyTorch exported: numbers that it counts on or begins anew, and what is its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidy.run.assembly import Assembly
from tidy.run.child.library import USER
from tidy.run.kineto_pieces import KinetoPieces
from tidy.trace import EventKind, Trace

_PIECES, _OPS = 40, 5


def _assembled(
    folder: Path, first_of: Any, *more: dict[str, Any], lines: Sequence[int] = ()
) -> Trace:
    """Pieces of five ops each; the first op of piece n has the External id `first_of(n)`.

    Args:
        more: events that each piece has besides, with times since its start.
        lines: those of a script that each piece reached, one a 100 us.
    """
    assembly = Assembly(0)
    pieces = KinetoPieces(assembly.strings, False, Counter())
    for piece in range(_PIECES):
        start_us = 1000.0 * piece
        events = [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::add",
                "pid": 1,
                "tid": 1,
                "ts": start_us + 10 * number,
                "dur": 5.0,
                "args": {"External id": first_of(piece) + number, "Ev Idx": number},
            }
            for number in range(_OPS)
        ]
        events += [{**each, "ts": start_us + each["ts"]} for each in more]
        path = folder / f"piece-{piece}.trace.json"
        path.write_text(json.dumps({"traceEvents": events, "baseTimeNanoseconds": 0}), "utf-8")
        facts = {
            "start_ns": int(1e3 * start_us),
            "cut_ns": int(1e3 * (start_us + 900)),
            "pid": 1,
            "thread": 1,
            "steps_ns": [],
            "steps_before": 0,
            "began_at_step": False,
            "number": piece,
            "has_lines": bool(lines),
            "codes": [("/home/train.py", "train", 1, USER)],
            "threads": [(1, len(lines))],
        }
        log = [(int(1e3 * (start_us + 100 * at)), 0, line) for at, line in enumerate(lines)]
        np.array(log, np.int64).tofile(folder / f"piece-{piece}.lines")
        pieces.read(path, facts, None)
        assembly.add(pieces, facts)
    return assembly.finish("made", {}, [])


@pytest.mark.parametrize(
    "first_of",
    [
        pytest.param(lambda _piece: 1, id="begin anew"),
        pytest.param(lambda piece: 1 + _OPS * piece, id="go on"),
        pytest.param(lambda piece: 1 + 1000 * piece, id="go on with what was not recorded"),
    ],
)
def test_no_operator_is_missing(first_of: Any, tmp_path: Path) -> None:
    trace = _assembled(tmp_path, first_of)
    assert len(trace.rows_named("aten::add")) == _PIECES * _OPS
    assert not trace.info.is_thinned
    assert trace.info.warnings == []


def _call(name: str, ts: float) -> dict[str, Any]:
    event = {"ph": "X", "cat": "cuda_runtime", "name": name, "ts": ts, "dur": 2.0}
    return {**event, "pid": 1, "tid": 1, "args": {"correlation": 1}}


def test_the_wait_of_a_profiler_that_is_stopped_is_its_own(tmp_path: Path) -> None:
    """A piece ends 900 us after its start."""
    waits_at = (100.0, 910.0)
    more = [_call("cudaDeviceSynchronize", ts) for ts in waits_at]
    trace = _assembled(tmp_path, lambda _piece: 1, *more)
    waits = trace.rows_named("cudaDeviceSynchronize")
    kinds = Counter(EventKind(kind) for kind in trace.kind[waits].tolist())
    assert kinds == {EventKind.Runtime: _PIECES, EventKind.Overhead: _PIECES}


def test_a_line_that_takes_long_is_shown(tmp_path: Path) -> None:
    """Operators run in the first 45 us; line 9 begins a range that is open in line 12 as well."""
    opened = {"ph": "X", "cat": "user_annotation", "name": "open", "pid": 1, "tid": 1}
    more = {**opened, "ts": 450.0, "dur": 100.0}
    trace = _assembled(tmp_path, lambda _piece: 1, more, lines=(7, 8, 7, 8, 9, 12))
    rows = [each for each in trace.of_kind(EventKind.PyCall) if each.location.line != 1]
    shown = [(each.name.rpartition("/")[2], (each.duration_ns + 2) // 1000) for each in rows]
    loop, line = "train.py(7): train", "train.py(12): train"
    assert shown == [(loop, 405), (line, 50), (line, 350)] * _PIECES
    assert all(each.location.is_call_line for each in rows)


def test_a_range_ends_where_its_piece_was_cut(tmp_path: Path) -> None:
    opened = {"ph": "X", "cat": "user_annotation", "name": "open", "pid": 1, "tid": 1}
    trace = _assembled(tmp_path, lambda _piece: 1, {**opened, "ts": 800.0, "dur": 5000.0})
    ranges = trace.named("open")
    assert [each.duration_ns for each in ranges] == [100_000] * _PIECES


def test_a_call_that_no_operator_makes_has_the_line_that_made_it(tmp_path: Path) -> None:
    """Lines are reached at 0, 100 and 200 us, and the operators run in the first 45."""
    more = _call("cudaLaunchKernel", 1.0), _call("cudaGraphLaunch", 150.0)
    trace = _assembled(tmp_path, lambda _piece: 1, *more, lines=(7, 8, 9))
    (graph, *_), (kernel, *_) = map(trace.named, ("cudaGraphLaunch", "cudaLaunchKernel"))
    assert str(graph.location) == "/home/train.py:8"
    assert graph.location is not None
    assert graph.location.is_call_line
    assert trace.stack_id[kernel.row] < 0
    assert str(kernel.location) == "/home/train.py:7"
