"""What rules say of jobs on several modelled devices, recorded: tests/data/several_devices."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import tidy
from tidy.finding import Checked

FOLDER = Path(__file__).parents[1] / "data" / "several_devices"


class RecordedLookAlike(NamedTuple):
    """A trace with `count` events of a name, on which a rule stays quiet."""

    code: str
    trace: str
    name: str
    count: int


_FORWARD, _NCCL = "DistributedDataParallel.forward", "nccl*Kernel*"
RECORDED_LOOK_ALIKES = [
    RecordedLookAlike("TDY901", "short_steps", _NCCL, 4),
    RecordedLookAlike("TDY901", "works_meanwhile", "volta_dgemm*", 3),
    RecordedLookAlike("TDY902", "works_meanwhile", "volta_dgemm*", 3),
    RecordedLookAlike("TDY902", "come_together", _NCCL, 4),
    RecordedLookAlike("TDY905", "two_models", _FORWARD, 8),
    RecordedLookAlike("TDY906", "buffers_stay", _FORWARD, 4),
    RecordedLookAlike("TDY906", "short_steps", _FORWARD, 4),
    RecordedLookAlike("TDY907", "one_of_two_heads", "*search_unused_parameters", 4),
    RecordedLookAlike("TDY907", "heads_and_batch_norms", "*search_unused_parameters", 4),
    RecordedLookAlike("TDY907", "heads_never_used", "*search_unused_parameters", 4),
]


@pytest.mark.parametrize(
    ("code", "wrong", "corrected"),
    [
        ("TDY901", "one_large_bucket", "one_small_bucket"),
        ("TDY903", "data_parallel", "one_device"),
    ],
)
def test_the_line_is_named(code: str, wrong: str, corrected: str) -> None:
    found = tidy.check(tidy.load(FOLDER / f"{wrong}.json.gz"), select=[code]).findings
    assert found
    for each in found:
        at = each.location
        assert at is not None
        assert (at.file, at.line, at.is_call_line) == ("script.py", 10, True)
    trace = tidy.load(FOLDER / f"{corrected}.json.gz")
    trace.self_check()
    assert tidy.check(trace, select=[code]).findings == ()


@pytest.mark.parametrize("one", RECORDED_LOOK_ALIKES, ids=lambda one: f"{one.code}-{one.trace}")
def test_nothing_is_found(one: RecordedLookAlike) -> None:
    trace = tidy.load(FOLDER / f"{one.trace}.json.gz")
    trace.self_check()
    assert len(trace.rows_named(one.name)) >= one.count
    outcome = tidy.check(trace, select=[one.code], savings="off").outcomes[one.code]
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()
