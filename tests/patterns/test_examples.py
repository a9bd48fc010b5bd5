"""Every example inside a rule is a test of that rule."""

from __future__ import annotations

import pytest

from tidy.finding import Checked, NotApplicable, NotChecked, Outcome
from tidy.patterns.base import Pattern
from tidy.patterns.examples import Abstains, Example, Fires, Quiet
from tidy.patterns.runner import run_patterns

from .rules import OWN_RULES


def _cases(kind: type[Example]) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{example.name}")
        for rule in OWN_RULES
        for example in rule.examples
        if isinstance(example, kind)
    ]


def _outcome(rule: type[Pattern], example: Example) -> Outcome:
    trace = example.trace()
    trace.self_check()
    return run_patterns(trace, [rule()])[rule.code]


@pytest.mark.parametrize(("rule", "example"), _cases(Fires))
def test_fires(rule: type[Pattern], example: Fires) -> None:
    outcome = _outcome(rule, example)
    assert isinstance(outcome, Checked)
    findings = outcome.findings
    assert sum(finding.count for finding in findings) == example.events
    assert {str(finding.location or "") for finding in findings} == {example.at}
    assert {finding.severity for finding in findings} == {example.severity or rule.severity}


@pytest.mark.parametrize(("rule", "example"), _cases(Fires))
def test_what_fires_is_a_whole_finding(rule: type[Pattern], example: Fires) -> None:
    outcome = _outcome(rule, example)
    assert isinstance(outcome, Checked)
    for finding in outcome.findings:
        assert (finding.code, finding.name, finding.fix) == (rule.code, rule.slug(), rule.fix)
        assert finding.message
        assert "\n" not in finding.message
        assert finding.cost_ns >= 0
        assert finding.cost_share is None or 0 <= finding.cost_share <= 1
        if finding.saving is not None:
            assert 0 <= finding.saving.low_ns <= finding.saving.high_ns <= finding.cost_ns


@pytest.mark.parametrize(("rule", "example"), _cases(Quiet))
def test_stays_quiet(rule: type[Pattern], example: Quiet) -> None:
    assert _outcome(rule, example) == Checked()


@pytest.mark.parametrize(("rule", "example"), _cases(Abstains))
def test_abstains(rule: type[Pattern], example: Abstains) -> None:
    outcome = _outcome(rule, example)
    assert isinstance(outcome, (NotChecked, NotApplicable))
    assert outcome.reason
    assert not isinstance(outcome, NotChecked) or outcome.remedy


@pytest.mark.parametrize(("rule", "example"), _cases(Example))
def test_a_second_run_says_the_same(rule: type[Pattern], example: Example) -> None:
    """Also of the same instance: rules keep nothing from event to event or from run to run."""
    trace, pattern = example.trace(), rule()
    first = run_patterns(trace, [pattern])
    run_patterns(example.trace(), [pattern])
    assert run_patterns(trace, [pattern]) == first
    assert run_patterns(trace, [rule()]) == first
