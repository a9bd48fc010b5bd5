"""TDY903: DataParallel on several devices."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy import Severity
from tidy.finding import NotChecked

from ..conftest import ReadEvents
from ..oracle.shared import TRACES, findings, text_of
from ..trace.kineto import Written, kernel, mark, op


def _read(read_events: ReadEvents, devices: tuple[int, ...], event: Written) -> tidy.Trace:
    replicas = (kernel("gemm", 20 + device, 9, device=device) for device in devices)
    return read_events([event, *replicas])


# The category was cpu_op until 2022.
_EVENTS = [mark("DataParallel.forward", 10, 50), op("DataParallel.forward", 10, 50)]


@pytest.mark.parametrize("event", _EVENTS, ids=lambda event: event["cat"])
def test_two_devices(read_events: ReadEvents, event: Written) -> None:
    trace = _read(read_events, (0, 1), event)
    (finding,) = tidy.check(trace, select=["TDY903"]).findings
    assert (finding.count, finding.severity) == (1, Severity.WARNING)


@pytest.mark.parametrize("event", _EVENTS, ids=lambda event: event["cat"])
def test_one_device(read_events: ReadEvents, event: Written) -> None:
    assert tidy.check(_read(read_events, (1,), event), select=["TDY903"]).findings == ()


def test_distributed_is_the_remedy(read_events: ReadEvents) -> None:
    event = mark("DistributedDataParallel.forward", 10, 50)
    assert tidy.check(_read(read_events, (0, 1), event), select=["TDY903"]).findings == ()


def test_without_device_work_nothing_is_known(read_events: ReadEvents) -> None:
    outcome = tidy.check(_read(read_events, (), _EVENTS[0])).outcomes["TDY903"]
    assert isinstance(outcome, NotChecked)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_recorded_runs_without_it(path: Path) -> None:
    if '"DataParallel.forward"' not in text_of(path):
        assert findings(path, "TDY903") == []
