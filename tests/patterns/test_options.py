"""Options of rules: the numbers that decide their verdicts."""

from __future__ import annotations

import math
from functools import cache

import pytest

import tidy
from tidy import Pattern
from tidy.errors import UnknownPattern, UsageError
from tidy.finding import Checked
from tidy.patterns.examples import Fires
from tidy.patterns.option import Option, options_of, set_options
from tidy.patterns.runner import run_patterns
from tidy.trace import Trace

from .rules import OWN_RULES

_OPTIONS = [(rule, name) for rule in OWN_RULES for name in options_of(rule)]
# What no example of the rule, as small as it is, comes near enough to for another number to matter.
_NOT_IN_EXAMPLES = {
    ("TDY006", "fewest-share"),
    ("TDY102", "most-of-workers"),
    ("TDY303", "long-ns"),
    ("TDY601", "large-on-a-cpu"),
    ("TDY604", "fewest-reads"),
    ("TDY803", "fewest-retries"),
    ("TDY902", "far-less"),
    ("TDY902", "most-of-waiting"),
}


def _verdict(rule: type[Pattern], trace: Trace, **options: float) -> object:
    pattern = rule()
    set_options(pattern, options)
    outcome = run_patterns(trace, [pattern])[rule.code]
    if not isinstance(outcome, Checked):
        return outcome
    return [(f.severity, f.location, f.count, f.message) for f in outcome.findings]


@cache
def _examples(rule: type[Pattern]) -> list[tuple[Trace, object]]:
    """The examples of a rule, and what it says of them."""
    traces = [each.trace() for each in rule.examples]
    return [(trace, _verdict(rule, trace)) for trace in traces]


@pytest.mark.parametrize(("rule", "name"), _OPTIONS, ids=lambda each: getattr(each, "code", each))
def test_each_option_decides_a_verdict(rule: type[Pattern], name: str) -> None:
    """One of the rule's own examples ends otherwise with the least or the greatest value."""
    option = options_of(rule)[name]
    greatest = 1 << 40 if option.most is None else option.most
    values = [type(option.default)(math.ceil(option.least)), type(option.default)(greatest)]
    changes = any(
        _verdict(rule, trace, **{name: value}) != usual
        for trace, usual in _examples(rule)
        for value in values
    )
    assert changes == ((rule.code, name) not in _NOT_IN_EXAMPLES)


@pytest.mark.parametrize(("rule", "name"), _OPTIONS, ids=lambda each: getattr(each, "code", each))
def test_each_option_says_what_it_is(rule: type[Pattern], name: str) -> None:
    option = options_of(rule)[name]
    assert name == name.lower()
    assert option.problem_of(option.default) is None, "the default is among what is allowed"
    assert len(option.reason.split()) >= 4
    assert not option.reason.endswith(".")
    assert "\n" not in option.reason


def _loop() -> tuple[type[Pattern], Trace]:
    (rule,) = (each for each in OWN_RULES if each.code == "TDY404")
    example = next(e for e in rule.examples if isinstance(e, Fires) and e.name == "fill")
    return rule, example.trace()


def test_an_option_is_given_by_code_or_name() -> None:
    """The example has twelve rounds."""
    _, trace = _loop()
    for name in ("TDY404", "for-loop-indexing"):
        for option in ("fewest-rounds", "fewest_rounds"):
            for fewest, count in ((12, 1), (13, 0)):
                report = tidy.check(trace, select=["TDY404"], options={name: {option: fewest}})
                assert len(report.findings) == count
    assert len(tidy.check(trace, select=["TDY404"]).findings) == 1, "the others kept nothing of it"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"TDY404": {"fewest-round": 3}}, "did you mean fewest-rounds?"),
        ({"TDY404": {"fewest-rounds": 1}}, "1 is no whole number from 2"),
        ({"TDY404": {"fewest-rounds": 2.5}}, "2.5 is no whole number from 2"),
        ({"TDY404": {"fewest-rounds": True}}, "True is no whole number from 2"),
        ({"TDY404": {"views-from": 1.5}}, "1.5 is no number from 0 to 1"),
        ({"TDY404": {"views-from": math.nan}}, "nan is no number from 0 to 1"),
        ({"TDY004": {"fewest": 1}}, "the rule has none"),
    ],
)
def test_an_option_that_makes_no_sense(options: dict[str, dict[str, float]], said: str) -> None:
    with pytest.raises(UsageError, match="TDY") as caught:
        tidy.check(_loop()[1], options=options)
    assert said in str(caught.value)


def test_options_of_no_rule() -> None:
    with pytest.raises(UnknownPattern, match="for-loop-indexing"):
        tidy.check(_loop()[1], options={"for-loop-indexin": {"fewest-rounds": 3}})


def test_a_rule_of_ones_own_has_options() -> None:
    class ManySelects(Pattern):
        """There are many selects."""

        code = "OWN001"
        triggers = frozenset({"aten::select"})
        most = Option(3, "more of them than this are many")

        def match(self, event: tidy.trace.Event) -> bool:  # type: ignore[name-defined]
            return len(event.trace.rows_named("aten::select")) > self.most

    _, trace = _loop()
    for most, count in ((11, 12), (12, 0)):
        report = tidy.check(
            trace, patterns=[ManySelects], select=["OWN001"], options={"OWN001": {"most": most}}
        )
        assert sum(each.count for each in report.findings) == count
