"""`covered_ns` and `step_of` against counting each nanosecond."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidy.patterns.evidence.device.devices import all_idle
from tidy.patterns.evidence.python.loops import step_of
from tidy.trace import Intervals
from tidy.trace.outline import parse_outline

_SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8)


@given(_SPANS, _SPANS)
def test_covered(times: list[tuple[int, int]], spans: list[tuple[int, int]]) -> None:
    covered = {t for start, length in times for t in range(start, start + length)}
    time = Intervals([start for start, _ in times], [start + length for start, length in times])
    starts = [start for start, _ in spans]
    ends = [start + length for start, length in spans]
    counted = [len(covered & set(range(s, e))) for s, e in zip(starts, ends, strict=True)]
    assert time.covered_ns(starts, ends).tolist() == counted


def test_covered_by_all_other_time() -> None:
    busy = Intervals([10, 30], [20, 35])
    assert busy.complement().covered_ns([0, 12, 15], [40, 18, 25]).tolist() == [25, 0, 5]


_OUTLINE = """
# device 0 NVIDIA A100 8.0
aten::relu
ProfilerStep#1 50us
  aten::mm
    cudaLaunchKernel
      => gemm 9us
ProfilerStep#2 50us
aten::relu
"""


def test_the_step_of_a_time() -> None:
    trace = parse_outline(_OUTLINE)
    times = [t for start, end in trace.step_time for t in (start - 1, start, end - 1, end)]
    assert step_of(trace, times).tolist() == [-1, 0, 0, -1, -1, 1, 1, -1]
    assert step_of(parse_outline("aten::relu"), [0, 5]).tolist() == [-1, -1]


def test_idle_is_all_but_the_work() -> None:
    trace = parse_outline(_OUTLINE)
    (work,) = trace.events(trace.device_rows)
    idle = all_idle(trace)
    assert not idle.overlaps(work.start_ns, work.end_ns)
    assert idle.overlaps(work.end_ns, work.end_ns + 1)
    assert idle.overlaps(work.start_ns - 1, work.start_ns)
