"""How long a rank did nothing but wait for a collective, on the device and on the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.jobs import collectives_of, match

_Event = tuple[str, str, int, int]  # category, name, start and duration in us


def _blocked_us(folder: Path, events: list[_Event], launched: dict[str, int]) -> list[int]:
    """Of each collective for how long it was waited for; kernels were launched at given times."""
    written: list[dict[str, Any]] = [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 2_000}
        | {"pid": 7, "tid": 7}
    ]
    for number, (category, name, ts, dur) in enumerate(events):
        on_device = category == "kernel"
        event = {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur}
        where = {"pid": 0 if on_device else 7, "tid": 7}
        if name.startswith("gloo"):
            where["tid"] = 9
        args = {"device": 0, "stream": 20 if "nccl" in name else 7, "correlation": number + 1}
        written.append(event | where | {"args": args if on_device else {}})
        if on_device:
            call: dict[str, Any] = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel"}
            call |= {"pid": 7, "tid": 7, "args": {"correlation": number + 1}}
            written.append(call | {"ts": launched[name], "dur": 2})
    path = folder / "trace.json"
    header = {"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": written}
    path.write_text(json.dumps(header), "utf-8")
    table = collectives_of(tidy.load(path))
    assert table.blocked_ns is not None
    return [ns // 1000 for ns in table.blocked_ns.tolist()]


_REDUCE = ("kernel", "ncclDevKernel_AllReduce_Sum", 100, 500)


@pytest.mark.parametrize(
    ("next_launched", "more", "blocked"),
    [
        # The device computes until 300; what follows was launched before.
        (150, [], 300),
        # It was launched at 450, and until then the host kept the device waiting.
        (450, [], 150),
        # It was launched after the end: the collective kept nobody.
        (620, [], 0),
        # The same, but the host waited for the device from 320 on.
        (620, [("cuda_runtime", "cudaStreamSynchronize", 320, 290)], 280),
        # Something else runs as it ends.
        (150, [("kernel", "copy", 550, 100)], 0),
    ],
)
def test_on_the_device(
    tmp_path: Path, next_launched: int, more: list[_Event], blocked: int
) -> None:
    events = [_REDUCE, ("kernel", "gemm", 50, 250), ("kernel", "next", 650, 50), *more]
    launched = {_REDUCE[1]: 20, "gemm": 30, "next": next_launched, "copy": 60}
    assert _blocked_us(tmp_path, events, launched) == [blocked]


def test_on_the_host(tmp_path: Path) -> None:
    """Two collectives of Gloo: an operator runs as the first ends, none as the second does."""
    events = [
        ("cpu_op", "aten::mm", 100, 400),
        ("cpu_op", "gloo:all_reduce", 200, 200),
        ("cpu_op", "gloo:all_reduce", 450, 300),
        ("cpu_op", "aten::add_", 800, 100),
    ]
    assert _blocked_us(tmp_path, events, {}) == [0, 250]


def test_a_rank_that_no_job_has_is_none(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, "pid": 7, "tid": 7}
    header = {"distributedInfo": {"rank": 1 << 70, "world_size": 1 << 70}, "traceEvents": [event]}
    path.write_text(json.dumps(header), "utf-8")
    table = collectives_of(tidy.load(path))
    assert (table.rank, table.world_size) == (0, 0)
    assert match([table]).ranks.tolist() == [0]
