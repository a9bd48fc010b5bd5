"""Recorded traces: what has to hold for any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy import Trace
from tidy.trace import Capability

from ..cli.command import EXAMPLES
from ..oracle.shared import TRACES, load


def _check(trace: Trace) -> None:
    events, averages = trace.function_events, trace.key_averages()
    columns, host = events.columns, ~events.is_device
    roots = host & (events.parent < 0)
    for name in (
        "cpu_time_total_ns",
        "device_time_total_ns",
        "cpu_memory_usage",
        "device_memory_usage",
    ):
        own, whole = columns[f"self_{name}"][host], columns[name][roots]
        assert own.sum() == whole.sum(), f"{name}: own and top level come to the same"
    assert averages.self_cpu_time_total_ns == columns["self_cpu_time_total_ns"].sum()
    device_ns = int(trace.duration_ns[trace.device_rows].sum())
    assert averages.self_device_time_total_ns == device_ns, "each kernel counts once"
    assert columns["self_device_time_total_ns"][host].sum() <= device_ns
    assert columns["device_time_total_ns"][host].max(initial=0) <= device_ns
    inner = np.flatnonzero(events.parent >= 0)
    above = events.parent[inner]
    assert (trace.start_ns[events.rows[above]] <= trace.start_ns[events.rows[inner]]).all()
    assert (trace.end_ns[events.rows[above]] >= trace.end_ns[events.rows[inner]]).all()
    for grouped in (averages, trace.key_averages(True), trace.key_averages(True, 3)):
        assert sum(average.count for average in grouped) == len(events)
        cpu_ns = sum(average.cpu_time_total_ns for average in grouped)
        assert cpu_ns == columns["cpu_time_total_ns"].sum()
        lines = grouped.table(row_limit=-1).splitlines()
        assert len({len(line) for line in lines if line.startswith("---")}) <= 1
        # Memory of a device may be known where its work is not ("Self CUDA Mem").
        assert ("Self CUDA %" in "".join(lines)) == (Capability.DEVICE in trace.capabilities)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples(path: Path) -> None:
    _check(tidy.load(path))


@pytest.mark.oracle
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_traces_of_others(path: Path) -> None:
    _check(load(path))
