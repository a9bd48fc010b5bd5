"""Summaries of several traces make the same report in whatever order they come."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tidy.summary import Origin, Summary, merged

from .making import example


def _of(number: int, rank: int | None = None, shift_ns: int = 0) -> Summary:
    """The example as another rank, or some time later."""
    run = replace(
        example().run, rank=rank, path=f"{number}.json", first_ns=10**18 + number * 10**12
    )
    run = replace(run, window=replace(run.window, unit="run", steps=(), finished=None, left_out=()))
    return replace(
        example(), number=number, run=run, origin=Origin(f"{number}.json", 5, str(number))
    )


_SEVERAL = [(f"{number}.tidy.json.gz", _of(number)) for number in range(5)]


@given(st.permutations(_SEVERAL), st.integers(0, 5))
def test_order_and_grouping_do_not_matter(order: list[tuple[str, Summary]], at: int) -> None:
    """Nor does it whether one is there twice."""
    notes: list[str] = []
    assert merged([*order, *order[:at]], [], notes) == [each for _, each in _SEVERAL]
    assert len(notes) == min(at, 1) if at > 4 else len(notes) == at


def test_a_trace_stands_for_its_summary() -> None:
    notes: list[str] = []
    trace = _of(1)
    assert merged([("s", replace(trace, number=7))], [trace], notes) == [trace]
    assert notes == ["s: the same steps as 1.json; left out"]


def test_the_same_steps_in_another_file_count_once() -> None:
    """They are known by their times, also where the file has become another one."""
    notes: list[str] = []
    trace = _of(1)
    copy = replace(trace, origin=Origin("other.json", 9, "other"))
    assert merged([("s", copy)], [trace], notes) == [trace]
    assert notes == ["s: the same steps as 1.json; left out"]
    other_rank = replace(copy, run=replace(copy.run, rank=3))
    assert merged([("s", other_rank)], [trace], notes) == [trace, other_rank]
