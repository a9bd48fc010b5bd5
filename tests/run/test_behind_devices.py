"""Pieces of a script whose host runs ahead of its GPU, which PyTorch's profiler waits for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.run.assembly import Assembly
from tidy.run.kineto_pieces import KinetoPieces

_PIECES, _STEPS, _STEP_US, _PRODUCT_US, _BETWEEN_US = 3, 5, 1_000, 10_000, 500
_PIECE_US = _STEPS * _PRODUCT_US + _BETWEEN_US


def _product(piece: int, step: int) -> list[dict[str, Any]]:
    """A product in float32 that the GPU is done with long after the host's step."""
    number, began_us = 1 + step, piece * _PIECE_US
    called_us = began_us + step * _STEP_US + 100.0
    shapes = {"Input Dims": [[4096, 4096]] * 2, "Input type": ["float"] * 2}
    kernel = {"External id": number, "correlation": number, "device": 0, "stream": 7}
    host = {"ph": "X", "pid": 1, "tid": 1}
    of_device = {"ph": "X", "pid": 0, "tid": 7}
    return [
        {**host, "cat": "cpu_op", "name": "aten::mm", "ts": called_us, "dur": 50.0}
        | {"args": {"External id": number, **shapes}},
        {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": called_us + 20}
        | {"dur": 9.0, "args": {"External id": number, "correlation": number}},
        {**of_device, "cat": "kernel", "name": "ampere_sgemm_128x128_nn"}
        | {"ts": began_us + 150 + step * _PRODUCT_US, "dur": float(_PRODUCT_US), "args": kernel},
    ]


@pytest.fixture
def checked(tmp_path: Path) -> tidy.Report:
    assembly = Assembly(0)
    pieces = KinetoPieces(assembly.strings, False, Counter())
    for piece in range(_PIECES):
        events = [event for step in range(_STEPS) for event in _product(piece, step)]
        gpu = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0}
        path = tmp_path / f"piece-{piece}.trace.json"
        made = {"traceEvents": events, "baseTimeNanoseconds": 0, "deviceProperties": [gpu]}
        path.write_text(json.dumps(made), "utf-8")
        start_us = piece * _PIECE_US
        facts = {
            "start_ns": 1000 * start_us,
            "cut_ns": 1000 * (start_us + _STEPS * _STEP_US),
            "pid": 1,
            "thread": 1,
            "steps_ns": [1000 * (start_us + (1 + each) * _STEP_US) for each in range(_STEPS)],
            "steps_before": piece * _STEPS,
            "began_at_step": True,
            "number": piece,
            "has_lines": False,
        }
        pieces.read(path, facts, None)
        assembly.add(pieces, facts)
    return tidy.check(assembly.finish("made", {}, []))


def test_a_step_lasts_until_its_work_is_done(checked: tidy.Report) -> None:
    window = checked.trace.window
    lengths = [end - start for start, end in window.finished_ranges]
    assert window.left_out == ()
    assert lengths == [pytest.approx(1000 * _PRODUCT_US, rel=0.02)] * (_PIECES * _STEPS)


def test_less_work_makes_all_steps_shorter(checked: tidy.Report) -> None:
    (found,) = (each for each in checked.findings if each.code == "TDY501")
    assert found.severity.label == "warning"
    assert found.saving.low_ns > 0.5 * 1000 * _PRODUCT_US
