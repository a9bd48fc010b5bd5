"""How many rounds a loop has is said of one step, and of what is outside of the steps in all."""

from __future__ import annotations

import pytest

import tidy
from tidy.patterns.examples import steps
from tidy.trace.outline import parse_outline

_FILL = "aten::select\naten::fill_\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (steps(_FILL * 12), "12 rounds a step index"),
        (steps(_FILL * 12) + steps(_FILL * 13, count=1).replace("#1", "#4"), "12 rounds a step"),
        (steps(_FILL * 12) + "aten::mm\n" + steps(_FILL * 40), "26 rounds a step"),
        (_FILL * 1200, "1,200 rounds index"),
        (_FILL * 1200 + steps("aten::mm"), "1,200 rounds index"),
    ],
    ids=["alike", "unlike", "two-loops", "no-steps", "before-the-steps"],
)
def test_rounds(text: str, said: str) -> None:
    (found,) = tidy.check(parse_outline(text), select=["TDY404"]).findings
    assert found.message.startswith(said)
