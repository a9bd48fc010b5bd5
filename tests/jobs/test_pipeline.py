"""Jobs whose ranks are stages of a pipeline: one forward, one backward."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from job_maker import JobOptions, make_job
from job_maker.pipeline import schedule

import tidy

from ..environment import SOAK

_SHAPES = [(1, 1), (2, 1), (2, 4), (3, 2), (4, 8), (8, 16)]


def _exchanges(path: Path) -> list[dict[str, Any]]:
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [e for e in events if e.get("cat") == "kernel" and "SendRecv" in e["name"]]


@pytest.mark.parametrize(("stages", "batches"), _SHAPES)
def test_each_part_comes_once_and_after_what_it_needs(stages: int, batches: int) -> None:
    parts = schedule(stages, batches)
    assert len(parts) == len(set(parts)) == 2 * stages * batches
    at = {part: number for number, part in enumerate(parts)}
    for is_backward, stage, batch in parts:
        if is_backward:
            assert at[False, stage, batch] < at[True, stage, batch]
        source = stage + 1 if is_backward else stage - 1
        if 0 <= source < stages:
            assert at[is_backward, source, batch] < at[is_backward, stage, batch]


def test_a_stage_goes_forward_and_back_by_turns() -> None:
    own = defaultdict[int, str](str)
    for is_backward, stage, _ in schedule(4, 6):
        own[stage] += "B" if is_backward else "F"
    assert own == {
        0: "FFF" + "FB" * 3 + "BBB",
        1: "FF" + "FB" * 4 + "BB",
        2: "F" + "FB" * 5 + "B",
        3: "FB" * 6,
    }


@pytest.mark.parametrize(("tensor", "pipeline"), [(2, 2), (1, 4), *([(1, 2)] if SOAK else [])])
def test_the_truth_is_that_of_the_files(tmp_path: Path, tensor: int, pipeline: int) -> None:
    options = JobOptions(8, steps=2, seed=2, tensor_parallel=tensor, pipeline=pipeline)
    truth = make_job(tmp_path, options)
    spans = defaultdict[tuple[int, int, str], list[list[int]]](list)
    for rank in truth["ranks"]:
        trace = tidy.load(tmp_path / rank["file"])
        trace.self_check()
        assert trace.info.warnings == []
        assert len(trace.lost_launches) == 0
        for event in _exchanges(tmp_path / rank["file"]):
            args = event["args"]
            start = round(event["ts"] * 1000)
            ends = args["Src Rank"], args["Dst Rank"], args["Collective name"]
            spans[ends].append([start, start + round(event["dur"] * 1000)])
    base = json.loads(gzip.decompress((tmp_path / "rank-0000.json.gz").read_bytes()))
    zero = truth["zero_ns"] - base["baseTimeNanoseconds"]

    def shown(rank: int, true_ns: int) -> float:
        clock = truth["ranks"][rank]
        return zero + true_ns * (1 + clock["drift_ppm"] / 1e6) + clock["offset_ns"]

    known = defaultdict[tuple[int, int, str], list[list[float]]](list)
    for each in truth["transfers"]:
        pair = each["from"], each["to"]
        for number, operation in enumerate(("send", "recv")):
            times = each["arrivals_ns"][number], each["end_ns"]
            known[(*pair, operation)].append([shown(pair[number], time) for time in times])
    assert set(known) == set(spans)
    for ends, found in spans.items():
        expected = sorted(known[ends])
        for one, other in zip(sorted(found), expected, strict=True):
            assert one == pytest.approx(other, rel=0, abs=2)


def test_a_pipeline_idles_while_it_fills_and_empties(tmp_path: Path) -> None:
    """Of stages + batches - 1 turns each stage works in as many as there are batches."""
    took = {}
    for batches in (2, 4):
        # Stages begin a step one after another: what a further step adds tells.
        jobs = [
            JobOptions(4, steps=steps, pipeline=4, microbatches=batches, quiet=True)
            for steps in (1, 2)
        ]
        one, two = (make_job(tmp_path, each)["job_ns"] for each in jobs)
        took[batches] = two - one
    turn = (took[4] - took[2]) / 2
    assert took[2] / turn == pytest.approx(4 + 2 - 1, rel=0.15)


def test_a_slow_stage_holds_up_the_others(tmp_path: Path) -> None:
    options = JobOptions(4, "slow-gpu", rank=2, steps=2, pipeline=4, strength=1.5)
    truth = make_job(tmp_path, options)
    assert truth["step_ns"] > 1.2 * truth["without_step_ns"]
    waited = defaultdict[int, int](int)
    for each in truth["transfers"]:
        early = each["arrivals_ns"][1] - each["arrivals_ns"][0]
        waited[each["from"] if early > 0 else each["to"]] += abs(early)
    assert min(waited, key=lambda rank: waited[rank]) == 2
