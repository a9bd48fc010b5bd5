"""Choosing rules by code, prefix or slug."""

from __future__ import annotations

import pytest

from tidy.errors import UnknownPattern
from tidy.patterns.base import Pattern
from tidy.patterns.registry import load_patterns, matching_patterns, select_patterns

from .rules import OWN_RULES


def _codes(rules: list[type[Pattern]]) -> list[str]:
    return [rule.code for rule in rules]


def test_rules_come_by_code() -> None:
    codes = _codes(load_patterns())
    assert codes == sorted(codes)


def test_nothing_chosen_is_all() -> None:
    assert select_patterns(OWN_RULES) == OWN_RULES


@pytest.mark.parametrize(
    ("select", "chosen"),
    [
        (["TDY404"], ["TDY404"]),
        (["tdy404"], ["TDY404"]),
        (["for-loop-indexing"], ["TDY404"]),
        (["FP32-Matmul"], ["TDY501"]),
        (["TDY6"], ["TDY601", "TDY602", "TDY603", "TDY604", "TDY605", "TDY606"]),
        (
            ["TDY60", "TDY404", " TDY603 "],
            ["TDY404", "TDY601", "TDY602", "TDY603", "TDY604", "TDY605", "TDY606"],
        ),
    ],
)
def test_select(select: list[str], chosen: list[str]) -> None:
    assert _codes(select_patterns(OWN_RULES, select)) == chosen


@pytest.mark.parametrize("choice", ["TDY", "T"])
def test_a_prefix_may_be_short(choice: str) -> None:
    assert select_patterns(OWN_RULES, [choice]) == OWN_RULES


def test_ignore_wins_over_select() -> None:
    assert _codes(select_patterns(OWN_RULES, ["TDY6"], ["zeroed-gradients"])) == [
        "TDY601",
        "TDY602",
        "TDY604",
        "TDY605",
        "TDY606",
    ]
    without = _codes(select_patterns(OWN_RULES, (), ["TDY5", "TDY000"]))
    assert set(_codes(OWN_RULES)) - set(without) == {
        "TDY000",
        "TDY501",
        "TDY502",
        "TDY504",
        "TDY503",
        "TDY505",
        "TDY506",
    }


@pytest.mark.parametrize("choice", ["TDY999", "no-such-rule", "", "XYZ", "TDY4O4", "404", "TDY.*"])
def test_a_choice_that_names_nothing(choice: str) -> None:
    for select, ignore in (([choice], []), ([], [choice])):
        with pytest.raises(UnknownPattern) as caught:
            select_patterns(OWN_RULES, select, ignore)
        assert repr(choice) in str(caught.value)


def test_find_takes_whole_names_only() -> None:
    assert [p.code for p in matching_patterns(["tdy603"], OWN_RULES)] == ["TDY603"]
    assert [p.code for p in matching_patterns(["Zeroed-Gradients"], OWN_RULES)] == ["TDY603"]
    some = [p.code for p in matching_patterns(["TDY602,TDY6", "launch-bound"], OWN_RULES)]
    assert some == ["TDY602", "TDY601", "TDY603", "TDY604", "TDY605", "TDY606", "TDY402"]
    for choice in ("zeroed", "TDY9999", "-"):
        with pytest.raises(UnknownPattern):
            matching_patterns([choice], OWN_RULES)
