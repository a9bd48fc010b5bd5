"""FLOPs, computed by hand: a product and a sum for each pair of elements that meet."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import ReadEvents
from ..trace.kineto import op

_CONV = ["", "", "", "[2, 1]", "[1, 0]", "[1, 2]", "2"]
_CASES: list[tuple[str, list[Any], list[str], int]] = [
    ("aten::mm", [[3, 4], [4, 5]], ["", ""], 2 * 3 * 4 * 5),
    ("aten::addmm", [[5], [3, 4], [4, 5], [], []], [""] * 5, 2 * 3 * 4 * 5),
    ("aten::bmm", [[7, 3, 4], [7, 4, 5]], ["", ""], 7 * 2 * 3 * 4 * 5),
    ("aten::baddbmm", [[7, 3, 5], [7, 3, 4], [7, 4, 5], [], []], [""] * 5, 7 * 2 * 3 * 4 * 5),
    ("aten::mul", [[3, 4], [4]], ["", ""], 12),
    ("aten::add", [[], [], []], ["", "", "1"], 1),
    # 9 x 8 pixels with one row of padding above and below, every other row: 5 x 4 results; each
    # sums 3 x 3 of the 2 channels of its group.
    ("aten::conv2d", [[2, 4, 9, 8], [6, 2, 3, 3], [6], [], [], [], []], _CONV,
     2 * (2 * 6 * 5 * 4) * (3 * 3 * 2)),
    ("aten::conv2d", [[4, 9, 8], [6, 2, 3, 3], [6], [], [], [], []], _CONV, 0),
    ("aten::conv2d", [[2, 4, 9, 8], [6, 2, 3, 3], [6]], [], 0),
    ("aten::relu", [[3, 4]], [""], 0),
    ("aten::mm", [], [], 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dims", "concrete", "flops"), _CASES)
def test_flops_of_a_call(
    name: str, dims: list[Any], concrete: list[str], flops: int, read_events: ReadEvents
) -> None:
    args = {"Input Dims": dims, "Concrete Inputs": concrete}
    events = [op(name, 10 * i, 5, args=args) for i in range(2)]
    (average,) = read_events(events).key_averages()
    assert average.flops == 2 * flops


def test_the_column_is_there_when_asked_for(read_events: ReadEvents) -> None:
    """PyTorch has it under `with_flops`; here sorting by it will do."""
    events = [
        op("aten::mm", 0, 5, args={"Input Dims": [[100, 100], [100, 100]]}),
        op("aten::t", 10, 5, args={"Input Dims": [[100, 100]]}),
    ]
    assert "FLOPs" not in read_events(events).table()
    for table in (
        read_events(events).table(sort_by="flops"),
        read_events(events, with_flops=1).table(),
    ):
        lines = table.splitlines()
        assert lines[1].rstrip().endswith("Total MFLOPs")
        assert lines[3].rstrip().endswith("2.000")
        assert lines[4].rstrip().endswith("--")
