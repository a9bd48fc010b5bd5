"""TDY000, the search by name."""

from __future__ import annotations

import pytest

import tidy
from tidy.errors import UsageError
from tidy.finding import NotApplicable
from tidy.trace.outline import parse_outline

_OUTLINE = """
train.py(3): train
  aten::linear 30us
    aten::addmm
      cudaLaunchKernel
        => gemm 9us
  aten::relu
thread 2
aten::zero_
  aten::fill_
"""


def test_named_events_are_searched_in_all_kinds() -> None:
    report = tidy.check(parse_outline(_OUTLINE), select=["TDY000"], name="^gemm$|fill|relu")
    found = {finding.message: (finding.count, finding.on_device) for finding in report.findings}
    assert found == {
        "named 'gemm'": (1, True),
        "named 'aten::fill_'": (1, False),
        "named 'aten::relu'": (1, False),
    }


def test_a_name_that_is_no_regular_expression() -> None:
    with pytest.raises(UsageError, match="--name"):
        tidy.check(parse_outline(_OUTLINE), name="aten::(")


def test_no_name_is_nothing_to_search() -> None:
    assert isinstance(tidy.check(parse_outline("")).outcomes["TDY000"], NotApplicable)
