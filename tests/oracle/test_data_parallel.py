"""What PyTorch's DistributedDataParallel does for nothing, in two processes on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import tidy
from ..environment import environment

pytestmark = pytest.mark.oracle

_SCRIPT = Path(__file__).with_name("data_parallel_workload.py")
_RULES = ["TDY904", "TDY905", "TDY906", "TDY907"]
_STEPS = 4


_WANTED: dict[str, set[str]] = {
    "one-by-one": {"TDY904"},
    "one-by-one-right": set(),
    "accumulated": {"TDY905"},
    "accumulated-right": set(),
    "buffers": {"TDY906"},
    "buffers-right": set(),
    "search": {"TDY907"},
    "branches": set(),
    "plain": set(),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All are recorded in the same two processes, which take most of the time to start."""
    folder = tmp_path_factory.mktemp("recorded")
    command = [sys.executable, _SCRIPT, folder, *_WANTED, "late"]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    return folder


def _reports(folder: Path, *codes: str) -> list[dict[str, Any]]:
    select = ",".join(codes or _RULES)
    done = tidy(
        *("report", "--format", "json", "--select", select, "rank0.json", "rank1.json"), cwd=folder
    )
    reports: list[dict[str, Any]] = json.loads(done.out)["traces"]
    return reports


def test_what_is_at_fault_is_found(recorded: Path) -> None:
    for mode, wanted in _WANTED.items():
        for report in _reports(recorded / mode):  # of either rank
            found = [each for each in report["findings"] if each["in_window"]]
            assert {each["code"] for each in found} == wanted, mode
            assert report["not_checked"] == []
            for each in found:
                assert each["location"]["file"].endswith(_SCRIPT.name)


def test_the_rank_that_sleeps_is_named(recorded: Path) -> None:
    """It sleeps 100 ms in each step, before a barrier; a busy machine may delay either one, too."""
    first, second = _reports(recorded / "late", "TDY902")
    (found,) = first["findings"]
    assert found["message"].startswith("rank 0 waits for rank 1, which comes last")
    assert found["cost_ns"] >= 0.8 * (_STEPS - 1) / _STEPS * 100_000_000
    assert not any("for rank 0" in each["message"] for each in second["findings"])
