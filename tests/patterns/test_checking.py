"""`problems_of`: what an example says against a rule."""

from __future__ import annotations

import pytest

from tidy.finding import NotApplicable, NotChecked, Severity
from tidy.patterns.base import Pattern
from tidy.patterns.checking import problems_of
from tidy.patterns.examples import Abstains, Example, Fires, Quiet
from tidy.trace import Event, Trace

_LINE = "train.py(3): train\n  aten::relu\n  aten::relu"


class Relus(Pattern):
    """A relu."""

    code = "ABC001"
    triggers = frozenset({"aten::relu"})

    def match(self, event: Event) -> bool:
        return True


class Broken(Relus):
    """Raises."""

    def match(self, event: Event) -> bool:
        raise ValueError("no such luck")


class Unchecked(Relus):
    """Abstains."""

    def applies(self, trace: Trace) -> NotChecked:
        return NotChecked("nothing to go by", "record more")


class Moot(Relus):
    """Abstains, too."""

    def applies(self, trace: Trace) -> NotApplicable:
        return NotApplicable("no relu could run")


@pytest.mark.parametrize(
    ("rule", "example"),
    [
        (Relus, Fires("two", _LINE, events=2, at="train.py:3")),
        (Relus, Fires("no-line", "aten::relu")),
        (Relus, Quiet("another", "aten::mm")),
        (Unchecked, Abstains("any", _LINE)),
        (Moot, Abstains("any", _LINE)),
    ],
)
def test_an_example_that_holds(rule: type[Pattern], example: Example) -> None:
    assert problems_of(rule, example) == []


@pytest.mark.parametrize(
    ("rule", "example", "problem"),
    [
        (Relus, Fires("a", _LINE, at="train.py:3"), "1 events expected, 2 found"),
        (Relus, Fires("a", "aten::mm"), "1 events expected, 0 found"),
        (Relus, Fires("a", "aten::relu", at="a.py:1"), "expected at 'a.py:1', found at ''"),
        (
            Relus,
            Fires("a", "aten::relu", severity=Severity.INFO),
            "severity info expected, warning found",
        ),
        (Relus, Quiet("a", "aten::relu"), "nothing expected, found 'A relu.' (x1)"),
        (
            Relus,
            Abstains("a", "aten::relu"),
            "the rule checked it instead of saying why it cannot or need not",
        ),
        (
            Broken,
            Fires("a", "aten::relu"),
            "the rule raised ValueError: no such luck (match, line 30)",
        ),
        (Unchecked, Quiet("a", _LINE), "the rule did not check it: nothing to go by"),
        (Moot, Fires("a", _LINE), "the rule did not check it: no relu could run"),
        (
            Relus,
            Fires("a", "aten::a\n   aten::b"),
            "the outline cannot be read: no event of an outline: '   aten::b'",
        ),
    ],
)
def test_an_example_that_does_not_hold(rule: type[Pattern], example: Example, problem: str) -> None:
    assert problems_of(rule, example) == [problem]
