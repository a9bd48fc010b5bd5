"""A recorded data-parallel job with a slowed device: as one process, and as two ranks of it.

Waiting is told from transfer, and the late device or rank is named.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tidy as package
from tidy.account import waits_for_ranks
from tidy.check.pipeline import among_ranks

from ..cli.command import tidy
from .test_several_devices import FOLDER


def _rank_of(whole: dict[str, Any], rank: int) -> dict[str, Any]:
    """What one process of the job would have recorded: its own device, and the host."""
    events = whole["traceEvents"]
    gone = {
        event["args"]["correlation"]
        for event in events
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
        and event["args"]["device"] != rank
    }
    kept = [
        event
        for event in events
        if event.get("args", {}).get("correlation") not in gone or event.get("ph") != "X"
    ]
    job = {"rank": rank, "world_size": 2}
    return {**whole, "traceEvents": kept, "distributedInfo": job}


def _exposed(report: Any, device: int) -> dict[str, int]:
    parts = report.accounts[device].parts
    return {part.cause: part.time_ns for part in parts if part.part == "communication"}


@pytest.mark.parametrize("late", [0, 1])
def test_the_late_device_and_rank_are_named(late: int, tmp_path: Path) -> None:
    recorded = FOLDER / f"late_{late}.json.gz"
    trace = package.load(recorded)
    (report,) = among_ranks([package.check(trace, select=["TDY902"])])
    (found,) = report.findings
    assert found.message.startswith(f"GPU {1 - late} waits for GPU {late}, which comes last")
    assert re.search(r": its GPU computes for [0-9.]+ ms longer$", found.message)
    steps = max(len(trace.window.steps), 1)
    assert _exposed(report, 1 - late)["rank-wait"] == pytest.approx(
        steps * found.cost_ns, abs=steps
    )
    # Where the host is slower than the device, the order of the launches decides: microseconds.
    assert 10 * _exposed(report, late).get("rank-wait", 0) < steps * found.cost_ns

    whole = json.loads(gzip.decompress(recorded.read_bytes()))
    for rank in (0, 1):
        text = json.dumps(_rank_of(whole, rank))
        (tmp_path / f"rank{rank}.json").write_text(text, "utf-8")
    ranks = [package.load(tmp_path / f"rank{rank}.json") for rank in (0, 1)]
    waits = waits_for_ranks(ranks)
    longest = {rank: each.waiting_ns.max() for rank, each in enumerate(waits) if each is not None}
    assert longest[1 - late] > 10 * longest[late]

    done = tidy(
        *("report", "--format", "json", "--select", "TDY902", "rank0.json", "rank1.json"),
        cwd=tmp_path,
    )
    findings = [each["findings"] for each in json.loads(done.out)["traces"]]
    assert findings[late] == []
    (told,) = findings[1 - late]
    assert told["message"].startswith(f"rank {1 - late} waits for rank {late}, which comes last")


def test_quiet_where_both_are_as_fast() -> None:
    trace = package.load(FOLDER / "none_late.json.gz")
    assert package.check(trace, select=["TDY902"]).findings == ()
