"""The account of every recorded trace adds up, and equals a second, naive one from the raw JSON."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import tidy
from tidy.account import Account, make_accounts
from tidy.trace import Capability

from ..environment import SOAK
from ..oracle.shared import OWN, TRACES, load, published, raw_events
from .naive import device_time, device_work, read_raw, steps_in

_EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "traces").glob("*.json.gz"))
_LARGEST_NBYTES = 3_000_000  # compressed; the naive account of 50 MB of events takes 10 s
_ALL = [
    *_EXAMPLES,
    *(path for path in TRACES if SOAK or path.stat().st_size < _LARGEST_NBYTES),
]
_QUICK = [path for path in _ALL if path.parent == OWN or path in _EXAMPLES]
each_trace = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=() if path in _QUICK else pytest.mark.slow)
        for path in _ALL
    ],
)


_COMPUTE = {
    *("matmul", "convolution", "attention", "normalization", "elementwise", "optimizer", "other")
}
_HOST = {
    *("data-loading", "device-wait", "launching", "python", "host-code", "optimizer-host"),
    *("allocator", "first-calls", "garbage-collection", "cpu-op", "other-process", "recording"),
    *("hook-host", "host-stall", "gap", "unknown"),
}
_WORDS = {
    "compute": _COMPUTE,
    "communication": {"transfer", "rank-wait"},
    "copy": {"copy", "fill"},
    "idle": _HOST,
    "host": _COMPUTE | _HOST,
}
_ON_CORES = {("compute", "matmul"), ("compute", "convolution")}


@cache
def accounts_of(path: Path) -> tuple[Account, ...]:
    return make_accounts(load(path))


@each_trace
def test_parts_add_up(path: Path) -> None:
    accounts = accounts_of(path)
    assert accounts
    for account in accounts:
        assert sum(part.time_ns for part in account.parts) == account.window.time_ns
        assert all(part.time_ns > 0 for part in account.parts)
        assert len({part.name for part in account.parts}) == len(account.parts)
        for part in account.parts:
            assert part.cause in _WORDS[part.part]
            assert part.tensor_cores is None or (part.part, part.cause) in _ON_CORES
            assert sum(ns for _, ns in part.kinds) == part.time_ns
            assert sum(place.time_ns for place in part.places) <= part.time_ns
            assert part.share == pytest.approx(part.time_ns / account.window.time_ns)


@each_trace
def test_equals_the_naive_account(path: Path) -> None:
    raw_events(path)  # skips a damaged file
    work = device_work(read_raw(path))
    accounts = accounts_of(path)
    assert {account.device for account in accounts} == (set(work) or {None})
    for account in accounts:
        if account.device is None:
            continue
        expected = device_time(work[account.device], list(account.window.time))
        assert account.window.time_ns == expected.window_ns
        times = [account.of(part) for part in ("compute", "communication", "copy", "idle")]
        assert times == [
            expected.compute_ns,
            expected.communication_ns,
            expected.copy_ns,
            expected.idle_ns,
        ]


@each_trace
def test_a_step_lasts_as_long_as_the_raw_file_says(path: Path) -> None:
    raw_events(path)  # skips a damaged file
    window, (host, devices) = load(path).window, steps_in(read_raw(path))
    if not host:
        return  # no step is marked in it
    numbers = [step.number for step in window.steps]
    assert window.step_ranges == [host[each] for each in numbers]
    if window.finished is not None:
        assert window.finished_ranges == [devices[each] for each in numbers]
    ends = sorted((host if window.finished is None else devices)[each] for each in numbers)
    # Where steps follow each other, the mean step is the distance of the first end from the last.
    mean_ns = (ends[-1][1] - ends[0][0]) / len(ends)
    if all(one[1] == other[0] for one, other in pairwise(ends)):
        assert window.step_ns == pytest.approx(mean_ns, abs=1)


@each_trace
def test_the_window_holds_half_of_the_device_work(path: Path) -> None:
    """Else a report names what it leaves out, or what was lost or not marked."""
    trace = load(path)
    rows = trace.device_rows
    inside = trace.step_time.covered_ns(trace.start_ns[rows], trace.end_ns[rows]).sum()
    in_all = trace.duration_ns[rows].sum()
    if inside < in_all / 2:
        said = str(tidy.check(trace))
        assert "left out" in said or "outside of steps" in said


@pytest.mark.slow
def test_little_is_unknown() -> None:
    """In nine of ten traces with a device at most a twentieth of the window has no known cause."""
    shares = {}
    known = [*_EXAMPLES, *published(), *(path for path in TRACES if path.parent == OWN)]
    for path in [each for each in known if Capability.DEVICE in load(each).capabilities]:
        shares[path.name] = max(
            sum(part.share for part in account.parts if part.cause == "unknown")
            for account in accounts_of(path)
        )
    assert len(shares) > 20
    too_much = {name: share for name, share in shares.items() if share > 0.05}
    assert len(too_much) <= len(shares) // 10, too_much
