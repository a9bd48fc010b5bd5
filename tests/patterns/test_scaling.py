"""No rule takes more than linear work: twice the siblings, twice the calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tidy.finding import Checked
from tidy.patterns.base import Pattern
from tidy.patterns.rules.named_event import NamedEvent
from tidy.patterns.runner import run_patterns
from tidy.trace import Trace

from ..conftest import ReadEvents
from ..environment import SOAK
from ..trace.kineto import Written, frame, mark, op
from .mixes import Round, many, mixes
from .rules import OWN_RULES

# Rounds of the shorter trace: as many, or fewer where a round has many siblings.
_MOST, _LEAST, _SIBLINGS = (100, 100, 0) if SOAK else (12, 4, 240)
_RULES = {rule.code: rule for rule in OWN_RULES}


def _calls_of(work: Callable[[], Any]) -> int:
    count = 0

    def profile(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def _pattern(rule: type[Pattern]) -> Pattern:
    return NamedEvent("aten::op") if rule is NamedEvent else rule()


def _calls_on(trace: Trace, rule: type[Pattern]) -> int:
    pattern, outcomes = _pattern(rule), dict[str, Any]()
    calls = _calls_of(lambda: outcomes.update(run_patterns(trace, [pattern])))
    outcome = outcomes[rule.code]
    assert isinstance(outcome, Checked)
    assert outcome.findings, "the trace is full of what the rule looks for"
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "header", "one_round"), [pytest.param(*mix, id=name) for name, *mix in mixes()]
)
def test_twice_the_siblings_take_twice_the_calls(code: str, header: str, one_round: Round) -> None:
    siblings = sum(not line.startswith(" ") for line in one_round(0).splitlines())
    rounds = min(_MOST, max(_LEAST, _SIBLINGS // siblings))
    run_patterns(many(header, one_round, 1), [_pattern(_RULES[code])])  # loads its modules
    few, twice = (_calls_on(many(header, one_round, n * rounds), _RULES[code]) for n in (1, 2))
    assert twice <= 2.2 * few


def test_the_count_sees_quadratic_work() -> None:
    """TorchTidy looks each event up among its siblings; that must not pass here."""

    def look_up_all(trace: Trace) -> None:
        for event in trace.named("aten::op*"):
            event.siblings()

    few, twice = (many("", lambda i: f"aten::op{i}\n", rounds) for rounds in (50, 100))
    assert _calls_of(lambda: look_up_all(twice)) > 3 * _calls_of(lambda: look_up_all(few))


_HALF = {"Input Dims": [[64, 63], [63, 64]], "Input type": ["c10::Half", "c10::Half"]}
_CONV = {"Input Dims": [[9, 1, 4], [4, 1, 3], [4]], "Input type": ["float"] * 3}
_NORM = {"Input Dims": [[9, 4, 4]], "Input type": ["float"]}


def _siblings(count: int) -> list[Written]:
    """`count` siblings under one frame, in turn what each rule starts at."""
    rounds = (
        lambda ts, i: op("aten::select", ts, 0.5, args={"Concrete Inputs": ["", "0", str(i)]}),
        lambda ts, _: op("aten::fill_", ts, 0.5),
        lambda ts, _: mark("Optimizer.zero_grad#SGD.zero_grad", ts, 0.5),
        lambda ts, _: op("aten::zero_", ts - 0.75, 0.125),
        lambda ts, _: mark("Optimizer.step#SGD.step", ts, 0.5),
        lambda ts, _: mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ts, 0.5),
        lambda ts, _: op("aten::mm", ts, 0.5, args=_HALF),
        lambda ts, _: op("aten::conv1d", ts, 0.5, args=_CONV),
        lambda ts, i: op("aten::batch_norm" if i % 3 else "aten::relu", ts, 0.5, args=_NORM),
        lambda ts, i: op(f"aten::op{i}", ts, 0.5),
        lambda ts, _: op("aten::to", ts, 0.5),
    )
    made = (rounds[i % len(rounds)](float(i + 1), i) for i in range(count))
    return [frame("main.py(1): main", 0, count + 2), *made]


@pytest.mark.slow
def test_many_siblings(read_events: ReadEvents) -> None:
    """Four times the siblings, at most four times the calls, each rule over all of them."""
    calls: dict[str, list[int]] = {}
    for count in (50_000, 200_000) if SOAK else (5_000, 20_000):
        trace = read_events(_siblings(count), deviceProperties=[])
        for rule in OWN_RULES:
            run_patterns(trace, [_pattern(rule)])  # what a trace keeps is made by now
            outcomes = dict[str, Any]()
            found = _calls_of(lambda: outcomes.update(run_patterns(trace, [_pattern(rule)])))  # noqa: B023
            calls.setdefault(rule.code, []).append(found)
            assert not hasattr(outcomes[rule.code], "error")
    assert {code: few for code, (few, lots) in calls.items() if lots > 4.4 * few} == {}


@pytest.mark.slow
def test_a_loop_of_its_own_in_each_step() -> None:
    def step(number: int) -> str:
        rounds = (
            f"  aten::select | float[12, 4], =0, ={i}\n  aten::op{number}\n" for i in range(12)
        )
        return f"ProfilerStep#{number} 90us\n{''.join(rounds)}"

    few, twice = (_calls_on(many("", step, n), _RULES["TDY404"]) for n in (200, 400))
    assert twice <= 2.2 * few
