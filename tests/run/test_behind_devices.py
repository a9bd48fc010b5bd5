"""Pieces of a script whose host runs ahead of its GPU, which PyTorch's profiler waits for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.retiming.light import light_steps
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


_GAP_US, _QUEUED = 700, 4  # between two pieces; and how many launches CUDA's queue holds here


def _recorded(
    folder: Path, steps: tuple[int, ...], host_us: int, waits: bool, warmup: int = 0
) -> Assembly:
    """A recording of a script that launches a product in each step; a number of steps a piece.

    The host takes `host_us` for a step, and waits where the queue is full, or where it `waits` for
    the result. The profiler waits for the GPU at the end of each piece.
    """
    assembly = Assembly(warmup)
    pieces = KinetoPieces(assembly.strings, False, Counter())
    now, gpu = 1_000.0, {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8}
    for piece, count in enumerate(steps):
        began, done, ends, events = now, [0.0], list[int](), list[dict[str, Any]]()
        for step in range(count):
            made = _product(0, step)
            op, launch, kernel = made
            op["ts"], launch["ts"] = now + 100, now + 120
            full_until = done[-_QUEUED] if len(done) > _QUEUED else 0.0
            launch["dur"] = max(9.0, full_until - launch["ts"])
            op["dur"] = launch["dur"] + 40
            kernel["ts"] = max(done[-1], launch["ts"] + launch["dur"] + 5)
            done.append(kernel["ts"] + _PRODUCT_US)
            now = max(now + host_us, op["ts"] + op["dur"] + 20)
            if waits:
                wait = {**launch, "name": "cudaStreamSynchronize", "ts": now, "args": {}}
                made.append({**wait, "dur": done[-1] + 5 - now})
                now = done[-1] + 20
            ends.append(int(1000 * now))
            events += made
        path = folder / f"{host_us}-{piece}.trace.json"
        header = {"baseTimeNanoseconds": 0, "deviceProperties": [gpu | {"computeMinor": 0}]}
        path.write_text(json.dumps({"traceEvents": events, **header}), "utf-8")
        facts = {"start_ns": int(1000 * began), "cut_ns": int(1000 * now), "steps_ns": ends}
        facts |= {"pid": 1, "thread": 1, "steps_before": sum(steps[:piece]), "number": piece}
        pieces.read(path, {**facts, "began_at_step": True, "has_lines": False}, None)
        assembly.add(pieces, {**facts, "began_at_step": True, "has_lines": False})
        now = max(now, done[-1]) + _GAP_US
    return assembly


@pytest.mark.parametrize("waits", [False, True], ids=["runs-ahead", "waits"])
@pytest.mark.parametrize("light_steps_of", [(7,), (6, 3, 5), (3, 3)], ids=str)
def test_steps_with_light_times_last_as_long(
    light_steps_of: tuple[int, ...], waits: bool, tmp_path: Path
) -> None:
    """The GPU is behind at each cut of both recordings, and would go on with what it has."""
    full = _recorded(tmp_path, (5, 4, 3), 2_000, waits, warmup=1)
    light = _recorded(tmp_path, light_steps_of, 1_000, waits)
    assert full.main is not None
    known = light_steps(light.raw, light.ends_ns, full.main)
    assert known is not None
    assert full.retime(known, light) is not None
    trace = full.finish("made", {}, [])
    step_ns = 1000 * _PRODUCT_US
    work = trace.duration_ns[trace.device_rows]
    assert work[1:].tolist() == [pytest.approx(step_ns, rel=0.01)] * 11
    lengths = [end - start for start, end in trace.window.finished_ranges]
    assert lengths == [pytest.approx(step_ns, rel=0.03)] * 11
    if not waits:
        found = max(tidy.check(trace, select=["TDY501"]).findings, key=lambda each: each.cost_ns)
        assert found.severity.label == "warning"
        assert found.saving is not None
        assert found.saving.low_ns > 0.4 * step_ns
