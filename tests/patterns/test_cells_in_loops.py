"""TDY404: what to write instead of a loop that calls a recurrent cell for each element."""

from __future__ import annotations

import pytest

import tidy
from tidy.trace.outline import parse_outline

_SELECT = "aten::select | float[12, 4], =0, ={}\n"


@pytest.mark.parametrize(
    ("body", "is_layer"),
    [
        ("aten::lstm_cell\n", True),
        (_SELECT + "aten::gru_cell\naten::mul\n", True),
        ("aten::mm\naten::tanh\n", False),
    ],
)
def test_a_layer_takes_the_whole_sequence(body: str, is_layer: bool) -> None:
    """The loop is followed by one that calls a cell, which is nothing to the first."""
    loop = "".join((_SELECT + body).replace("{}", str(at)) for at in range(12))
    (found,) = tidy.check(parse_outline(loop + "aten::lstm_cell\n"), select=["TDY404"]).findings
    assert found.fix.startswith("nn.LSTM") == is_layer
