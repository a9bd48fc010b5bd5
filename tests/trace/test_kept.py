"""Evidence that is kept on a trace: made once, anew for another window, and never in the way."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import tidy
from tidy.trace import Trace
from tidy.trace.kept import kept, kept_of_window
from tidy.trace.outline import parse_outline

_TRACE = Path(__file__).parents[2] / "examples" / "traces" / "train_cnn.json.gz"
_STEPS = """
ProfilerStep#1 10us
  aten::add
ProfilerStep#2 10us
  aten::add
ProfilerStep#3 10us
  aten::add
"""


def test_it_is_made_once_for_each_trace_and_argument() -> None:
    made: list[str] = []

    @kept
    def rows_of(trace: Trace, name: str) -> NDArray[np.int64]:
        made.append(name)
        return trace.rows_named(name)

    one, other = parse_outline(_STEPS), parse_outline("aten::mul")
    for trace, name, count in ((one, "aten::add", 3), (other, "aten::add", 0), (one, "x", 0)):
        assert len(rows_of(trace, name)) == len(rows_of(trace, name)) == count
    assert made == ["aten::add", "aten::add", "x"]
    with pytest.raises(ValueError, match="read-only"):
        rows_of(one, "aten::add")[0] = 7


def test_of_another_window_it_is_made_anew() -> None:
    @kept_of_window
    def length_ns(trace: Trace) -> int:
        return trace.window.time_ns

    trace = parse_outline(_STEPS)
    first = trace.steps[0]
    shorter = trace.without_steps({(first.start_ns, first.end_ns)}, "a reason")
    for each in (trace, shorter, trace):
        assert length_ns(each) == each.window.time_ns
    assert length_ns(shorter) < length_ns(trace)


def test_a_trace_is_given_back_with_the_last_report_on_it() -> None:
    gc.collect()
    gc.disable()
    try:
        trace = tidy.load(_TRACE)
        report = tidy.check(trace)
        assert report.findings
        assert report.summary
        alive = weakref.ref(trace)
        del trace, report
        assert alive() is None
    finally:
        gc.enable()
