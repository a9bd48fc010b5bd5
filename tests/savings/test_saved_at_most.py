"""An edit saves no more than it is said to, by what more than its trace tells."""

from __future__ import annotations

from dataclasses import replace

from tidy.patterns.examples import steps
from tidy.savings import Edit, Savings
from tidy.trace.outline import parse_outline


def _saved(*edits: Edit) -> tuple[list[int], list[int]]:
    low, high = Savings(_TRACE, _TRACE.window.step_ranges, 0).saved(edits)
    return low.tolist(), high.tolist()


# Three steps of 1,000 us, with two ops of 300 and 200 us in each.
_TRACE = parse_outline(steps("aten::sort 300us", "aten::cat 200us"))
_SORT, _CAT = (
    Edit(name, host={0: _TRACE.time_of(_TRACE.rows_named(name))})
    for name in ("aten::sort", "aten::cat")
)
_BOUNDED = replace(_SORT, saves_at_most_ns=(40_000, 60_000))


def test_it_is_all_that_the_edit_saves() -> None:
    assert _saved(_BOUNDED) == ([40_000] * 3, [60_000] * 3)


def test_the_saving_of_another_edit_stays() -> None:
    assert _saved(_BOUNDED, _CAT)[1] == [260_000] * 3


def test_an_edit_that_may_save_nothing_takes_nothing_off_another() -> None:
    """At worst all of its time stays, and the other edit saves what it does alone."""
    maybe = replace(_BOUNDED, left=(0.0, 1.0))
    least, most = _saved(_CAT)
    assert least == [184_000] * 3
    assert _saved(maybe, _CAT) == (least, [each + 60_000 for each in most])


def test_it_is_all_that_the_edit_saves_in_a_run_without_a_profiler() -> None:
    savings = Savings(_TRACE, _TRACE.window.step_ranges, 0)
    low, high = savings.unrecorded([_BOUNDED])
    assert (low.tolist(), high.tolist()) == ([40_000] * 3, [60_000] * 3)
    assert savings.unrecorded([_SORT])[1].min() > 300_000  # the rest of the host gets faster, too


def test_what_is_no_bound_changes_nothing() -> None:
    free = replace(_SORT, saves_at_most_ns=(10**9, 10**9))
    assert _saved(free) == _saved(_SORT)
