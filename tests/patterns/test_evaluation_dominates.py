"""TDY707 where a GPU works on other batches than its host."""

from __future__ import annotations

import pytest

import tidy

from ..conftest import ReadEvents
from ..trace.kineto import Written, call, kernel, op, span

_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def _epochs(trained_us: float, evaluated_us: float) -> list[Written]:
    """Four batches of training, then twelve of evaluation, five times; 100 us of the host each.

    A GPU works so long on a batch of each sort.
    """
    written: list[Written] = []
    free = 0.0
    for number, is_training in enumerate(([True] * 4 + [False] * 12) * 5, 1):
        ts = 100.0 * number
        written += [span("user_annotation", _FETCH, ts, 5)]
        written += [op("aten::linear", ts + 10, 20, args={"External id": number})]
        written += [call("cudaLaunchKernel", ts + 15, 5, number, external=number)]
        free = max(free, ts + 25)
        lasts_us = trained_us if is_training else evaluated_us
        written += [kernel("gemm", free, lasts_us, correlation=number, external=number)]
        free += lasts_us
        if is_training:
            written += [span("user_annotation", "Optimizer.step#SGD.step", ts + 50, 20)]
    return written


@pytest.mark.parametrize(
    ("trained_us", "evaluated_us", "said"),
    [(20, 20, ["75%"]), (400, 400, ["75%"]), (4000, 200, []), (200, 4000, ["98%"])],
)
def test_a_batch_lasts_as_long_as_its_work(
    read_events: ReadEvents, trained_us: float, evaluated_us: float, said: list[str]
) -> None:
    trace = read_events(_epochs(trained_us, evaluated_us))
    found = tidy.check(trace, select=["TDY707"]).findings
    shares = [each.message.split()[2] for each in found]
    assert shares == said
