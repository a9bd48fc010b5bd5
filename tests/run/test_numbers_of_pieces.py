"""Numbers that PyTorch counts on through all pieces of a recording, and those that begin anew."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidy.run.assembly import Assembly
from tidy.run.kineto_pieces import KinetoPieces
from tidy.run.recording import Recording
from tidy.trace import Trace

_PIECES, _OPS = 40, 5


def _assembled(folder: Path, first_of: Any) -> Trace:
    """Pieces of five ops each; the first op of piece n has the External id `first_of(n)`."""
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
