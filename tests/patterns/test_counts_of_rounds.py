"""How many rounds a loop has is said of a step that has some, and of what is in no step in all."""

from __future__ import annotations

import pytest

import tidy
from tidy.patterns.examples import joined, steps
from tidy.trace.outline import parse_outline

_FILL = "aten::select\naten::fill_\n"
_LATER_STEPS = joined(*(steps("aten::mm", count=1).replace("#1", f"#{at}") for at in range(4, 9)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (steps(_FILL * 12), "12 iterations a step index"),
        (
            steps(_FILL * 12) + steps(_FILL * 13, count=1).replace("#1", "#4"),
            "12 iterations a step",
        ),
        (steps(_FILL * 12) + "aten::mm\n" + steps(_FILL * 40), "26 iterations a step"),
        (steps(_FILL * 12, "aten::mm") + _LATER_STEPS, "12 iterations a step"),
        (_FILL * 1200, "1,200 iterations index"),
        (_FILL * 1200 + steps("aten::mm"), "1,200 iterations index"),
    ],
    ids=["alike", "unlike", "two-loops", "some-steps", "no-steps", "before-the-steps"],
)
def test_rounds(text: str, said: str) -> None:
    (found,) = tidy.check(parse_outline(text), select=["TDY404"]).findings
    assert found.message.startswith(said)


def test_numbers_are_those_of_a_step_that_has_some() -> None:
    """Here three of eight; the last list is at the end of a trace that cuts off what is after."""
    numbers = "aten::resolve_conj | float[4096]\naten::resolve_neg | float[4096]\n"
    text = steps(numbers, "train.py(9): <genexpr> 400us", "aten::mm 90us", lasts_us=None)
    later = _LATER_STEPS.replace("aten::mm", "aten::mm 90us")
    (found,) = tidy.check(parse_outline(text + later + numbers), select=["TDY414"]).findings
    assert found.message.startswith(
        "tolist() gives 4,096 numbers a step to Python, which runs for 402 us"
    )
