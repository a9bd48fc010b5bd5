"""Every recorded trace is read, sound and checked; what is no trace is refused."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy import Severity
from tidy.errors import TraceFormatError
from tidy.trace import Capability, EventKind, Intervals

from ..data.pack_traces import is_same, listed
from .shared import (
    DESCRIPTIONS,
    FOLDER,
    OTHERS,
    OWN,
    PACKED,
    TRACES,
    VERDICTS,
    load,
    path_of,
    raw_events,
    report,
    text_of,
)

_PACKED_TOO = [
    path
    for path in TRACES
    if PACKED in path.parents and (FOLDER / path.relative_to(PACKED)).is_file()
]
each_trace = pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)


def test_the_traces_are_there() -> None:
    """Where CI is set the absence of those beside the checkout would hide tests of them."""
    in_ci = bool(os.environ.get("CI"))
    others = [path for path in TRACES if path.parent != OWN]
    assert len(others) > (65 if in_ci else 50)
    assert len({path.name for path in others}) == len(others)
    assert sum(path.parent != OWN for path in DESCRIPTIONS) > (80 if in_ci else 20)


def test_packed_traces_are_listed_and_small() -> None:
    """Whoever adds one says where it is from, and what its licence is."""
    there = [path for path in PACKED.glob("*/**/*.json*") if path.is_file()]
    traces = {str(path.relative_to(PACKED)) for path in there if not path.name.endswith(VERDICTS)}
    assert traces == set(listed())
    assert sum(path.stat().st_size for path in there) < 6_000_000


@pytest.mark.slow
@pytest.mark.parametrize("path", _PACKED_TOO, ids=lambda path: path.name)
def test_a_packed_trace_is_the_one_beside_the_checkout(path: Path) -> None:
    assert is_same(tidy.load(FOLDER / path.relative_to(PACKED)), load(path))


@each_trace
def test_read_sound_and_checked(path: Path) -> None:
    load(path).self_check()
    assert report(path).crashed == {}
    assert report(path).outcomes.keys() >= {"TDY101", "TDY404", "TDY701"}


@each_trace
def test_findings_are_whole(path: Path) -> None:
    for finding in report(path).findings:
        assert finding.count >= 1
        assert finding.cost_share is None or 0 <= finding.cost_share <= 1
        assert finding.saving is None or finding.saving.high_ns <= max(finding.cost_ns, 0)
        assert len({event.row for event in finding.events}) == finding.count


@each_trace
def test_figures_of_a_finding_are_of_one_window(path: Path) -> None:
    """Count, time and share; what happens outside of the window alone has no share of it."""
    window = load(path).window
    on_host = Intervals(*np.array(window.step_ranges, np.int64).reshape(-1, 2).T)
    for finding in report(path).findings:
        spans = [
            (event.start_ns, max(event.end_ns, event.start_ns + 1)) for event in finding.events
        ]
        inside = [window.time.overlaps(*span) for span in spans]
        if window.finished is not None:  # the host ran what counts before the devices did
            inside = [a or on_host.overlaps(*span) for a, span in zip(inside, spans, strict=True)]
        assert all(inside) if finding.in_window else not any(inside), finding.code
        if finding.in_window and finding.cost_share is not None:
            assert finding.cost_ns <= window.step_ns
            assert finding.cost_share == pytest.approx(finding.cost_ns / window.step_ns, abs=1e-6)


_KERNELS = {"kernel", "concurrent_kernel"}
_DEVICE_WORK = _KERNELS | {"gpu_memcpy", "gpu_memset", "memcpy", "memset"}


@each_trace
def test_what_is_in_the_file_is_in_the_trace(path: Path) -> None:
    """Kernels, Python functions and shapes are counted in the JSON. What has no time is no event;
    an AMD copy is written as a kernel, and an MTIA has kernels of other categories.
    """
    events = [event for event in raw_events(path) if event.get("ph") == "X" and "ts" in event]
    counts = Counter(str(event.get("cat", "")).lower() for event in events)
    trace = load(path)
    assert len(trace.rows_of_kind(EventKind.PyCall, EventKind.PyCCall)) == counts["python_function"]
    if not any(category.startswith(("mtia", "privateuse1", "xpu")) for category in counts):
        kernels = sum(counts[each] for each in _KERNELS)
        work = sum(counts[each] for each in _DEVICE_WORK)
        in_trace = trace.rows_of_kind(EventKind.Kernel, EventKind.Memcpy, EventKind.Memset)
        assert len(in_trace) == work
        assert len(trace.rows_of_kind(EventKind.Kernel)) <= kernels
    has_shapes = any(
        key.lower() == "input dims"
        for event in events
        for key in (event.get("args") or {})
        if str(event.get("cat", "")).lower() in ("cpu_op", "operator")
    )
    assert (Capability.SHAPES in trace.capabilities) == has_shapes


@each_trace
def test_the_rank_is_that_of_the_header(path: Path) -> None:
    stated = re.search(r'"distributedInfo":\s*\{[^}]*?"rank":\s*(\d+)', text_of(path))
    assert load(path).info.rank == (int(stated[1]) if stated else None)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_what_is_no_trace_is_refused(path: Path) -> None:
    with pytest.raises(TraceFormatError) as caught:
        tidy.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_an_execution_trace_is_refused_by_its_name() -> None:
    with pytest.raises(TraceFormatError, match="execution trace"):
        tidy.load(path_of("hta__execution_trace__benchmark_simple_add_et"))


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.name)
def test_what_only_describes_a_trace_is_refused(path: Path) -> None:
    with pytest.raises(TraceFormatError) as caught:
        tidy.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_an_unescaped_quote_costs_one_event_at_most() -> None:
    path = path_of("oddname_quote")
    text, trace = text_of(path), load(path)
    assert len(trace.rows_of_kind(EventKind.TorchOp)) == text.count('"cat": "cpu_op"') > 0
    assert trace.info.warnings or 'he said "hi"' in trace.names


_PAIRS = [
    path
    for place in (PACKED / "pairs", FOLDER.parent / "pairs")
    for path in sorted(place.glob("*/*.json*"))
]


@pytest.mark.parametrize(
    "path", [*TRACES, *_PAIRS], ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_what_is_saved_is_part_of_what_it_costs_and_decides_the_severity(path: Path) -> None:
    """As printed: no saving above its cost, none of less than half a percent in a warning.

    What is said to be hidden is host time in which a device works for nine tenths.
    """
    trace, made = load(path), report(path)
    step_ns = trace.window.step_ns
    for finding in made.findings:
        saving = finding.saving
        if saving is None:
            continue
        assert 0 <= saving.low_ns <= saving.high_ns <= finding.cost_ns <= step_ns, finding
        assert saving.step_ns == step_ns
        if finding.severity != Severity.ERROR:
            is_much = saving.middle_ns >= 0.01 * step_ns and saving.low_ns >= 0.005 * step_ns
            assert is_much == (finding.severity == Severity.WARNING), finding
        assert saving.hidden == saving.why.startswith("hidden")
        if saving.hidden:
            assert finding.edit is not None
            assert _busy_share(trace, finding.edit.host.values()) >= 0.9, finding
    after = made.weighed.step_ns_after
    if after is not None:
        counting = [f.saving for f in made.findings if f.saving and f.acceptance is None]
        assert after[0] <= min(each.step_ns_after[0] for each in counting) + 0.001 * step_ns


def _busy_share(trace: tidy.Trace, times: Iterable[Intervals]) -> float:
    """The part of some host time in the steps in which any device has work."""
    inside = [
        (max(start, begin), min(end, until))
        for time in times
        for start, end in time
        for begin, until in trace.step_time
        if start < until and begin < end
    ]
    busy = Intervals(trace.start_ns[trace.device_rows], trace.end_ns[trace.device_rows])
    starts, ends = np.array(inside).T
    return float(busy.covered_ns(starts, ends).sum() / (ends - starts).sum())
