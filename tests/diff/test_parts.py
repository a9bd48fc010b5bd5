"""The parts of a comparison, each against a second way to the same answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tidy
from tidy.diff.interval import growth, independent_count, thinned
from tidy.diff.machine import Machine, machine_of
from tidy.diff.op_table import OP, PYTHON, OpKey, OpRow, op_table
from tidy.diff.pairing import paired

from .runs import OPS, run

_POSITIVE = st.lists(st.floats(1, 1e6), min_size=8, max_size=20)


@given(_POSITIVE, _POSITIVE)
def test_the_estimate_is_the_median_of_all_ratios(base: list[float], new: list[float]) -> None:
    ratios = sorted(other / one for one in base for other in new)
    low, high = ratios[(len(ratios) - 1) // 2], ratios[len(ratios) // 2]
    found = growth(np.array(base), np.array(new), (len(base), len(new)))
    assert low * (1 - 1e-9) <= 1 + found.estimate <= high * (1 + 1e-9)
    # The ends as Hollander and Wolfe have them: 2.5758 deviations of the Mann-Whitney count.
    one, other = len(base), len(new)
    left_out = int(one * other / 2 - 2.5758 * (one * other * (one + other + 1) / 12) ** 0.5)
    assert found.low == pytest.approx(ratios[left_out] - 1, abs=1e-6, rel=1e-6)
    assert found.high == pytest.approx(ratios[-1 - left_out] - 1, abs=1e-6, rel=1e-6)


@given(_POSITIVE, _POSITIVE, st.floats(0.1, 10))
def test_longer_steps_are_longer_by_that(base: list[float], new: list[float], by: float) -> None:
    counts = len(base), len(new)
    one = growth(np.array(base), np.array(new), counts)
    other = growth(np.array(base), by * np.array(new), counts)
    for mine, theirs in zip(one, other, strict=True):
        assert (mine + 1) * by == pytest.approx(theirs + 1)  # type: ignore[operator]


def _steps(chance: np.random.Generator, count: int, memory: float) -> NDArray[np.float64]:
    """Lengths that differ by 10 %, each like the one before as far as `memory` says."""
    values = chance.normal(size=count)
    for at in range(1, count):
        values[at] = memory * values[at - 1] + (1 - memory**2) ** 0.5 * values[at]
    return np.asarray(np.exp(0.1 * values))


@pytest.mark.parametrize(("count", "memory"), [(10, 0.0), (40, 0.0), (40, 0.6), (200, 0.8)])
def test_the_interval_holds_the_truth(count: int, memory: float) -> None:
    """Of 200 pairs of runs that are alike; steps that remember differ less than they seem to."""
    chance, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        base, new = (_steps(chance, count, memory) for _ in range(2))
        found = growth(base, new, (independent_count(base), independent_count(new)))
        if found.low is not None and found.high is not None:
            wrong += not found.low <= 0 <= found.high
    assert wrong <= (12 if memory else 5)


def test_steps_that_repeat_others_count_once() -> None:
    steps = np.tile([1.0, 1.1, 1.05, 1.2], 10)
    assert independent_count(steps, timed=4) <= 4
    assert growth(steps, steps, (4.0, 4.0)).low is None


def test_few_steps_have_no_interval() -> None:
    steps = np.array([1.0, 1.1, 1.05, 1.2])
    assert growth(steps, steps, (4.0, 4.0)).low is None
    assert growth(np.ones(5), np.ones(5), (5.0, 5.0)).low == 0


def test_many_steps_are_thinned_evenly() -> None:
    assert thinned(np.arange(10_000.0)).tolist()[::100] == pytest.approx([0, 3344, 6688], abs=2)


def test_what_most_ops_have_in_common_is_the_machines() -> None:
    assert machine_of([0.1, 0.1, 0.1, 0.1]) == Machine()  # too few to tell
    made = machine_of([0.1, 0.11, 0.09, 0.1, 0.1, 3.0])
    assert made.growth == pytest.approx(0.1, abs=0.005)
    assert made.spread < 0.02


def test_the_width_is_students() -> None:
    """Quantiles of Student's distribution from a table: 10 and 20 degrees of freedom."""
    for degrees, risk, quantile in ((10, 0.01, 3.169), (20, 0.01, 2.845), (20, 0.001, 3.850)):
        machine = Machine(0.0, 0.1, round(degrees / 0.37) + 1)
        assert machine.width(risk) == pytest.approx(quantile, rel=0.02)


def _table(names: list[tuple[str, str, int]]) -> dict[OpKey, OpRow]:
    """A row for each op, file and line, that tells its number by its time."""
    return {
        OpKey(OP, name, "[4]", file, "f", line): OpRow(None, np.full(3, 2.0**number), 1.0)
        for number, (name, file, line) in enumerate(dict.fromkeys(names))
    }


_NAMES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x.py", "y.py"]), st.integers(1, 4)),
    max_size=12,
)


@given(_NAMES, _NAMES)
def test_each_row_is_in_one_pair(
    base: list[tuple[str, str, int]], new: list[tuple[str, str, int]]
) -> None:
    tables = _table(base), _table(new)
    pairs = list(paired(*tables))
    for table, side in zip(tables, ("base", "new"), strict=True):
        rows = [row for pair in pairs if (row := getattr(pair, side)) is not None]
        assert sum(row.step_ns[0] for row in rows) == sum(row.step_ns[0] for row in table.values())
        assert sum(row.count for row in rows) == len(table)
    # What could be paired is not left over on both sides.
    left = [
        {pair.key.name for pair in pairs if getattr(pair, side) is None} for side in ("base", "new")
    ]
    assert not left[0] & left[1]


@given(_NAMES)
def test_a_table_is_paired_with_itself_row_by_row(names: list[tuple[str, str, int]]) -> None:
    table = _table(names)
    assert all(pair.base is pair.new for pair in paired(table, table))


def test_rows_are_what_a_walk_over_the_events_adds_up(tmp_path: Path) -> None:
    trace = tidy.load(run(tmp_path / "t.json", OPS, steps=3))
    expected = Counter[tuple[str, str, int]]()
    for number, step in enumerate(trace.window.steps):
        for event in trace.within(step.start_ns, step.end_ns):
            if event.kind.name == "TorchOp":
                expected[event.name, str(list(map(list, event.input_shapes))), number] += (
                    event.self_ns
                )
    found = {
        (key.name, key.shapes, number): time_ns
        for key, row in op_table(trace).items()
        if key.sort == OP
        for number, time_ns in enumerate(row.step_ns.tolist())
    }
    assert found == dict(expected)
    whole = sum(row.step_ns.sum() for row in op_table(trace).values())
    assert whole <= trace.window.time_ns
    assert {key.sort for key in op_table(trace)} == {OP, PYTHON}
