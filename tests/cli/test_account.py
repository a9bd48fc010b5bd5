"""`tidy account`: parts that add up, per step and per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .command import EXAMPLES, tidy
from .traces import Event, event, write


def _parts(accounts: list[dict]) -> int:
    return sum(part["time_ns"] for account in accounts for part in account["parts"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_parts_add_up_and_steps_too(example: Path) -> None:
    result = tidy("account", example, "--format", "json", "--by-step", "--by-line", "--rows", "3")
    assert (result.code, result.err) == (0, "")
    (trace,) = json.loads(result.out)["traces"]
    (account,) = trace["account"]
    assert _parts([account]) == account["window"]["time_ns"] > 0
    assert _parts([each for step in trace["steps"] for each in step["account"]]) == _parts(
        [account]
    )
    assert len(trace["steps"]) == account["window"]["count"]
    assert 0 < len(trace["lines"]) <= 3


def test_the_text_has_a_line_for_each_large_part() -> None:
    result = tidy("account", EXAMPLES[0], "--by-line", "--rows", "2")
    assert result.code == 0
    heading = next(i for i, line in enumerate(result.lines) if line.startswith("Where the"))
    parts = [line for line in result.lines[heading + 2 : heading + 11] if "%" in line]
    assert 1 <= len(parts) <= 8
    assert "2 lines with most time" in result.lines


def test_what_is_no_trace_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = tidy("account", tmp_path / "x.json")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1


def _product(start_us: float, number: int, lasts_us: float, **args: Any) -> list[Event]:
    return [
        event("cpu_op", "aten::mm", start_us, 5, **args),
        event("cuda_runtime", "cudaLaunchKernel", start_us + 1, 2, correlation=number),
        event("kernel", "ampere_sgemm_64x64_nn", start_us + 4, lasts_us, device=0, stream=7,
              correlation=number),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lasts_us", "said"),
    [
        (300, "products reach 20.0 GFLOP/s in float32 (0.1% of the peak); MFU at least"),
        (1, "products: sizes of 1.0% of their time known, too little to say how fast they are"),
    ],
)
def test_how_fast_products_are(tmp_path: Path, lasts_us: float, said: str) -> None:
    """Of one of two products the sizes are known: 6 million operations."""
    dims = {"Input Dims": [[100, 100], [100, 300]], "Input type": ["float", "float"]}
    events = _product(0, 1, lasts_us, **dims) + _product(500, 2, 100)
    device = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0}]
    result = tidy("account", write(tmp_path / "x.json", events, deviceProperties=device))
    (line,) = (line for line in result.lines if line.startswith("  products"))
    assert line.strip().startswith(said)
