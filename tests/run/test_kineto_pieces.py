"""Pieces that PyTorch exported: numbers that it counts on or begins anew, and what is its own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidy.run.assembly import Assembly
from tidy.run.kineto_pieces import KinetoPieces
from tidy.run.recording import Recording
from tidy.trace import EventKind, Trace

_PIECES, _OPS = 40, 5


def _assembled(folder: Path, first_of: Any, *more: dict[str, Any]) -> Trace:
    """Pieces of five ops each; the first op of piece n has the External id `first_of(n)`.

    Args:
        more: events that each piece has besides, with times since its start.
    """
    assembly = Assembly(0)
    pieces = KinetoPieces(Recording(folder, {}), assembly.strings, False, Counter())
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
            "ended_at_step": False,
            "number": piece,
            "has_lines": False,
        }
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


def test_the_wait_of_a_profiler_that_is_stopped_is_its_own(tmp_path: Path) -> None:
    """A piece ends 900 us after its start."""

    def wait(ts: float) -> dict[str, Any]:
        event = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "dur": 9.0}
        return {**event, "pid": 1, "tid": 1, "ts": ts, "args": {"correlation": 1}}

    trace = _assembled(tmp_path, lambda _piece: 1, wait(100.0), wait(910.0))
    waits = trace.rows_named("cudaDeviceSynchronize")
    kinds = Counter(EventKind(kind) for kind in trace.kind[waits].tolist())
    assert kinds == {EventKind.Runtime: _PIECES, EventKind.Overhead: _PIECES}
