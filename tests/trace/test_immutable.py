"""A trace stays as it was built: neither its columns nor its header can be written to."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tidy.trace import Intervals
from tidy.trace.outline import parse_outline

_OUTLINE = """
ProfilerStep#1
  aten::add | float[2, 3], float[3]
    cudaLaunchKernel
      => kernel 5us
"""


def test_columns_cannot_be_written_to() -> None:
    trace = parse_outline(_OUTLINE)
    columns = {name: c for name, c in vars(trace).items() if isinstance(c, np.ndarray)}
    assert {"start_ns", "duration_ns", "parent", "caller", "kind", "inputs_id"} <= set(columns)
    for name, column in columns.items():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
        assert getattr(trace, name) is column


def test_the_header_cannot_be_replaced() -> None:
    trace = parse_outline(_OUTLINE, path="t.json", warnings=["1 event was lost"])
    assert (trace.info.path, list(trace.info.warnings)) == ("t.json", ["1 event was lost"])
    with pytest.raises(FrozenInstanceError):
        trace.info.path = "other.json"  # type: ignore[misc]


def test_intervals_show_what_they_hold() -> None:
    assert repr(Intervals([5, 0], [7, 3])) == "Intervals([(0, 3), (5, 7)])"
