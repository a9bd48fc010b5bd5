"""TDY102: which fetches count, and how much."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import tidy
from tidy import Severity

from ..conftest import ReadEvents
from ..oracle.shared import decoded, findings, path_of
from ..trace.kineto import Written, frame, kernel, mark, op

_FETCH = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
_STEP_US = 1000


def _loop(fetches_us: Sequence[float], kernel_at: float = 500) -> list[Written]:
    """One step of 1,000 us for each fetch; the GPU works 400 us from `kernel_at` on."""
    written = [op("aten::mm", 1, 1)]
    for number, us in enumerate(fetches_us):
        start = number * _STEP_US
        written += [
            mark(f"ProfilerStep#{number}", start, _STEP_US),
            mark(_FETCH, start + 10, us),
            kernel("gemm", start + kernel_at, 400, correlation=number),
        ]
    return written


def _severities(read_events: ReadEvents, written: list[Written]) -> list[Severity]:
    """As the rule itself has it; a replay has the last word in a report."""
    report = tidy.check(read_events(written), select=["TDY102"], savings="off")
    return [finding.severity for finding in report.findings]


@pytest.mark.parametrize(
    ("us", "said"), [(40, []), (60, [Severity.INFO]), (150, [Severity.WARNING])]
)
def test_by_the_share_of_the_step(read_events: ReadEvents, us: float, said: list[Severity]) -> None:
    assert _severities(read_events, _loop([us] * 6)) == said


def test_a_busy_gpu_waits_for_nothing(read_events: ReadEvents) -> None:
    assert _severities(read_events, _loop([300] * 6, kernel_at=10)) == []


@pytest.mark.parametrize("slow", range(6))
def test_one_slow_batch_is_none(read_events: ReadEvents, slow: int) -> None:
    assert _severities(read_events, _loop([450 if i == slow else 5 for i in range(6)])) == []


def test_neither_the_first_nor_another_single_one(read_events: ReadEvents) -> None:
    assert _severities(read_events, _loop([450, 5, 5, 450, 5, 5])) == []


def test_new_workers_are_not_what_the_others_wait_for(read_events: ReadEvents) -> None:
    """The cost is that of batches that keep coming late, not of an iterator's first one."""
    fetches = [5, 150, 150, 150, 400, 150, 150, 150]
    made = frame("torch/utils/data/dataloader.py(425): _get_iterator", 4005, 3)
    (found,) = tidy.check(read_events([*_loop(fetches), made]), select=["TDY102"]).findings
    assert found.count == 7
    assert found.cost_ns == (5 + 6 * 150) * 1000 / 8  # a step


def test_every_second_batch_is_a_bottleneck(read_events: ReadEvents) -> None:
    """Two workers that take two steps each."""
    assert _severities(read_events, _loop([5, 450] * 4)) == [Severity.WARNING]


def test_batches_that_open_an_epoch(read_events: ReadEvents) -> None:
    """Every second step makes an iterator anew: an epoch of two batches."""
    written = _loop([5, 450] * 4)
    dataloader = "torch/utils/data/dataloader.py(9): _get_iterator"
    written += [frame(dataloader, (2 * i + 1) * _STEP_US + 2, 5) for i in range(4)]
    assert _severities(read_events, written) == []


def test_two_batches_are_too_few(read_events: ReadEvents) -> None:
    assert _severities(read_events, _loop([450, 450])) == []


def test_resnet50_with_four_workers_does_not_wait() -> None:
    """1.3 to 1.7 ms a fetch in steps of 118 ms and more."""
    path = path_of("kineto__resnet50_num_workers_4")
    longest = max(e["dur"] for e in decoded(path)["traceEvents"] if e.get("name") == _FETCH)
    assert longest < 2000
    assert findings(path, "TDY102") == []
