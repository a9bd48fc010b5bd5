"""TDY101: an iterator whose set-up is only partly recorded may have workers."""

from __future__ import annotations

import pytest

import tidy

from ..conftest import ReadEvents
from ..trace.kineto import frame, mark, op

_FILE = "torch/utils/data/dataloader.py"


@pytest.mark.parametrize(("entered_us", "said"), [(0, 0), (7, 1)])
def test_an_iterator_that_a_segment_begins_in(
    read_events: ReadEvents, entered_us: float, said: int
) -> None:
    """Calls that are open when a segment begins all start with it; the question came before."""
    written = [
        frame("train.py(9): train", 90, 900),
        frame(f"{_FILE}(492): __iter__", 100, 400),
        frame(f"{_FILE}(433): _get_iterator", 100 + entered_us, 390),
        frame(f"{_FILE}(1101): __init__", 110, 370),
        op("aten::mm", 600, 10),
        mark("Optimizer.step#SGD.step", 700, 10),
    ]
    found = tidy.check(read_events(written), select=["TDY101"]).findings
    assert len(found) == said
