"""TDY304: which copies are those of Python numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Severity
from tidy.finding import Checked, NotChecked
from tidy.trace import Trace

from ..conftest import ReadEvents
from ..oracle.shared import decoded, path_of, report
from ..trace.kineto import Written, call, frame, mark, op, span

_STEP_US = 1000
_TENSOR = "<built-in method tensor of type object at 0x7f61c4518c30>"
_TO = "<built-in method to of Tensor object at 0x7f61c4518c30>"


def _upload(number: int, ts: float, made_by: str, us: float, nbytes: int) -> list[Written]:
    """`made_by` around an `aten::to` of `us` with a copy to the device in it."""
    args = {"External id": number}
    work = {"correlation": number, "device": 0, "stream": 7, "bytes": nbytes}
    return [
        frame(made_by, ts, us + 2),
        op("aten::to", ts + 1, us),
        op("aten::copy_", ts + 2, us - 2, args=args),
        call("cudaMemcpyAsync", ts + 3, us - 4, number, external=number),
        span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", ts + 4, 1, pid=0, tid=7, args=work),
    ]


def _steps(
    count: int, a_step: int, made_by: str = _TENSOR, us: float = 9, nbytes: int = 4
) -> list[Written]:
    written: list[Written] = []
    for step in range(count):
        start = step * _STEP_US
        written.append(mark(f"ProfilerStep#{step}", start, _STEP_US - 1))
        written.append(frame("train.py(7): train", start + 1, 900))
        for at in range(a_step):
            number = step * 100 + at + 1
            written += _upload(number, start + 10 + 100 * at, made_by, us, nbytes)
    return written


def _found(read_events: ReadEvents, written: list[Written]) -> list[tidy.Finding]:
    return list(tidy.check(read_events(written), select=["TDY304"]).findings)


@pytest.mark.parametrize(("us", "severity"), [(3, Severity.INFO), (30, Severity.WARNING)])
def test_by_what_is_saved_of_the_step(
    read_events: ReadEvents, us: float, severity: Severity
) -> None:
    """Three of 3 or 30 us in 999 us, of which a hundredth is worth a warning."""
    (finding,) = _found(read_events, _steps(2, 3, us=us))
    assert (finding.count, finding.severity) == (6, severity)
    assert finding.cost_ns == 3 * us * 1000
    assert str(finding.location) == "train.py:7"


@pytest.mark.parametrize(
    ("steps", "a_step", "made_by", "nbytes"),
    [(2, 2, _TENSOR, 4), (1, 5, _TENSOR, 4), (2, 3, _TENSOR, 128), (2, 3, _TO, 4)],
    ids=["two a step", "one step", "a list of numbers", "tensors of the data"],
)
def test_others(
    read_events: ReadEvents, steps: int, a_step: int, made_by: str, nbytes: int
) -> None:
    trace = read_events(_steps(steps, a_step, made_by, nbytes=nbytes))
    assert tidy.check(trace).outcomes["TDY304"] == Checked()


def test_tensors_made_right_before(read_events: ReadEvents) -> None:
    """`torch.tensor(x).to(device)`: the copy is not inside torch.tensor()."""
    written = _steps(2, 3, _TO)
    written += [
        frame(_TENSOR, step * _STEP_US + 100 * at + 6, 2) for step in range(2) for at in range(3)
    ]
    (finding,) = _found(read_events, written)
    assert finding.count == 6


def _small_uploads(path: Path) -> list[int]:
    """Copies of up to 64 bytes in each step of a file that has `ProfilerStep#`."""
    events: list[dict[str, Any]] = decoded(path)["traceEvents"]
    steps = [e for e in events if str(e.get("name")).startswith("ProfilerStep#")]
    steps = [e for e in steps if e["cat"] in ("cpu_op", "user_annotation")]
    copies = [e for e in events if str(e.get("name")).startswith("Memcpy HtoD")]
    starts = [e["ts"] for e in copies if 0 < e["args"].get("bytes", 0) <= 64]
    return [sum(e["ts"] <= ts < e["ts"] + e["dur"] for ts in starts) for e in steps]


@pytest.mark.parametrize("rank", [0, 1])
def test_runs_without_stacks_cannot_tell(rank: int) -> None:
    path = path_of(f"hta__trace_filter__sampled_rank-{rank}")
    assert len([count for count in _small_uploads(path) if count >= 3]) == 2
    assert isinstance(report(path).outcomes["TDY304"], NotChecked)


@pytest.mark.parametrize(
    "name",
    [
        "hta__history__with_gpu_user_annotation_step_based_trace_2543932",
        "param__dlrm__dlrm_kineto__worker0_step_12",
    ],
)
def test_too_few_to_ask_for_stacks(name: str) -> None:
    """Two a step in the one, ten copies in five optimizer steps; a single step in the other."""
    path = path_of(name)
    assert len(_small_uploads(path)) < 2
    assert report(path).outcomes["TDY304"] == Checked()


def test_nothing_small_is_nothing_to_ask_for(read_events: ReadEvents) -> None:
    written = [e for e in _steps(2, 3, nbytes=4096) if e["cat"] != "python_function"]
    trace: Trace = read_events(written)
    assert tidy.check(trace).outcomes["TDY304"] == Checked()
