"""What holds of every account, on random runs."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given

from tidy.account import Accountant, HostTime, make_accounts
from tidy.account.device_work import busy_pieces
from tidy.account.idle_time import host_pieces
from tidy.trace import EventKind, Intervals, Trace, Window
from tidy.trace.outline import parse_outline

from .naive import COMMUNICATION, COMPUTE, COPY, Interval, device_time
from .random_runs import runs, windows

_SORTS = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL": COMMUNICATION}


def _work(trace: Trace, device: int) -> list[tuple[int, int, int]]:
    """(start, end, sort) of each kernel, copy and fill of a device."""
    work = []
    for event in trace.events(trace.device_rows):
        if trace.device[event.row] == device:
            plain = COMPUTE if event.kind == EventKind.Kernel else COPY
            end_ns = event.start_ns + event.duration_ns
            work.append((event.start_ns, end_ns, _SORTS.get(event.name, plain)))
    return work


def _check(trace: Trace, window: Window) -> None:
    for account in make_accounts(trace, window):
        assert sum(part.time_ns for part in account.parts) == window.time_ns
        for part in account.parts:
            assert part.time_ns > 0
            assert 0 < part.share <= 1
            assert all(place.time_ns >= 0 for place in part.places)
            assert sum(place.time_ns for place in part.places) <= part.time_ns
        if account.device is not None:
            expected = device_time(_work(trace, account.device), list(window.time))
            assert account.of("compute") == expected.compute_ns
            assert account.of("communication") == expected.communication_ns
            assert account.of("copy") == expected.copy_ns
            assert account.of("idle") == expected.idle_ns


@given(runs())
def test_its_own_window(trace: Trace) -> None:
    window = trace.window
    assert window.time_ns >= 0
    assert not len(
        window.time
        & Intervals([x.start_ns for x in window.left_out], [x.end_ns for x in window.left_out])
    )
    _check(trace, window)


@given(runs(), windows())
def test_any_window(trace: Trace, intervals: list[Interval]) -> None:
    time = Intervals([start for start, _ in intervals], [end for _, end in intervals])
    _check(trace, Window((), time, (), "run"))


@given(runs(devices=1))
def test_the_same_again(trace: Trace) -> None:
    assert make_accounts(trace) == make_accounts(trace)


@given(runs(), windows())
def test_pieces_part_the_window(trace: Trace, intervals: list[Interval]) -> None:
    """Stretches of work and of idle time, by start, begin where the one before ends."""
    time = Intervals([start for start, _ in intervals], [end for _, end in intervals])
    host = HostTime(trace)
    for device in trace.devices_used:
        busy = busy_pieces(trace, device, time)
        idle = host_pieces(trace, host, device, time - Intervals(busy.start_ns, busy.end_ns))
        starts, ends = (np.concatenate([busy[i], idle[i]]) for i in (0, 1))
        order = np.lexsort((ends, starts))
        starts, ends = starts[order], ends[order]
        starts, ends = starts[ends > starts], ends[ends > starts]
        assert (starts[1:] >= ends[:-1]).all()
        assert Intervals(starts, ends) == time


@given(runs())
def test_steps_add_up_to_the_run(trace: Trace) -> None:
    window = trace.window
    # Steps of several threads may overlap, with one another or with what is left out.
    assume(window.time_ns == sum(end - start for start, end in window.finished_ranges))
    whole: dict[tuple[int | None, str, str], int] = {}
    for account in make_accounts(trace):
        whole |= {(account.device, p.name): p.time_ns for p in account.parts}
    by_step: dict[tuple[int | None, str, str], int] = {}
    for step, accounts in Accountant(trace, window).by_step():
        for account in accounts:
            assert sum(part.time_ns for part in account.parts) == step.duration_ns
            for part in account.parts:
                key = account.device, part.name
                by_step[key] = by_step.get(key, 0) + part.time_ns
    assert not window.steps or by_step == whole


@given(runs())
def test_steps_have_the_parts_of_their_accounts(trace: Trace) -> None:
    window = trace.window
    lasts = [lasts for _, lasts, _ in window.all_steps]
    assume(len({step.number for step, _, _ in window.all_steps}) == len(lasts))
    lengths = [end - start for start, end in lasts]
    whole = Intervals([start for start, _ in lasts], [end for _, end in lasts])
    accountant = Accountant(trace)
    parts = accountant.step_parts()
    assert abs(parts.time_ns.sum() - whole.total_ns) <= parts.time_ns.size
    assume(sum(lengths) == whole.total_ns)  # those of several threads may overlap
    by_step = dict(zip(parts.steps.tolist(), parts.time_ns.T.tolist(), strict=True))
    for (step, _, _), length_ns in zip(window.all_steps, lengths, strict=True):
        assert abs(sum(by_step[step.number]) - length_ns) <= len(parts.names)
    for step, accounts in accountant.by_step():
        expected = dict.fromkeys(parts.names, 0.0)
        for account in accounts:
            for each in account.parts:
                expected[each.part, each.cause] += each.time_ns / len(accounts)
        assert np.allclose(by_step[step.number], list(expected.values()), atol=1)


def test_a_window_in_which_nothing_was_recorded() -> None:
    _check(parse_outline(""), Window((), Intervals([0], [1]), (), "run"))
