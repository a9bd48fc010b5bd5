"""TDY107: what is stacked of lists and of arrays has fixes of its own, at one line too."""

from __future__ import annotations

import tidy
from tidy.patterns.rules.tensor_of_each_list import TensorOfEachList

_AT_ONE_LINE = "lists-and-arrays-at-one-line"


def test_each_kind_at_a_line_has_its_own_fix() -> None:
    example = next(one for one in TensorOfEachList.examples if one.name == _AT_ONE_LINE)
    found = tidy.check(example.trace(), select=["TDY107"]).findings
    fixes = {each.message.split()[1]: each.fix for each in found}
    assert sorted(fixes) == ["arrays", "lists"]
    assert "numpy.stack" in fixes["arrays"]
    assert "torch.tensor(lists)" in fixes["lists"]
