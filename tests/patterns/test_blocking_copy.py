"""TDY104: what blocks, and what cannot be known."""

from __future__ import annotations

import pytest

from tidy import Severity
from tidy.finding import NotChecked
from tidy.patterns.examples import GPU, steps, to_gpu, under
from tidy.patterns.rules.blocking_copy import BlockingCopy
from tidy.patterns.runner import run_patterns
from tidy.trace.outline import parse_outline

from ..oracle.shared import decoded, findings, path_of, report
from .outlines import WORK, said

_LARGE = 64 * 1024 * 4


def test_the_input_alone_tells() -> None:
    without_wait = to_gpu("Pinned", _LARGE).replace("      cudaStreamSynchronize 25us\n", "")
    (finding,) = said(BlockingCopy, steps(without_wait, WORK))
    assert finding.count == 3


def test_small_copies_block_too() -> None:
    (finding,) = said(BlockingCopy, steps(to_gpu("Pinned", 256, "64"), WORK))
    assert finding.count == 3


def test_copies_that_do_not_block_are_left_out() -> None:
    outline = steps(
        to_gpu("Pinned", _LARGE), to_gpu("Pinned", _LARGE, non_blocking=True), WORK, lasts_us=900
    )
    (finding,) = said(BlockingCopy, outline)
    assert (finding.count, finding.severity) == (3, Severity.WARNING)


def test_one_step_is_no_loop() -> None:
    assert said(BlockingCopy, steps(to_gpu("Pinned", _LARGE), WORK, count=1)) == []


def test_a_range_names_the_place_where_there_are_no_stacks() -> None:
    (finding,) = said(BlockingCopy, steps(under("upload", to_gpu("Pinned", _LARGE)), WORK))
    assert finding.location is None
    assert finding.message.endswith(" in upload")


def test_a_wait_elsewhere_shows_that_waits_were_recorded() -> None:
    """Without inputs the lack of a wait counts only where there would be one."""
    bare = to_gpu("Pinned", _LARGE, non_blocking=True).replace(" | ", "\n#").split("\n")
    outline = "\n".join(line for line in bare if not line.startswith("#")) + "\n"
    assert said(BlockingCopy, steps(outline, WORK) + "cudaDeviceSynchronize\n") == []
    trace = parse_outline(GPU + steps(outline, WORK))
    outcome = run_patterns(trace, [BlockingCopy()])["TDY104"]
    assert isinstance(outcome, NotChecked)
    assert "record_shapes" in outcome.remedy


def test_dlrm_does_not_wait_for_its_pinned_batch() -> None:
    path = path_of("param__dlrm__dlrm_kineto__worker0_step_12")
    names = [event.get("name", "") for event in decoded(path)["traceEvents"]]
    assert names.count("Memcpy HtoD (Pinned -> Device)") == 5
    assert findings(path, "TDY104") == []


@pytest.mark.parametrize("rank", [0, 1])
def test_a_trace_that_lost_inputs_and_waits_is_not_checked(rank: int) -> None:
    path = path_of(f"hta__trace_filter__sampled_rank-{rank}")
    names = {event.get("name", "") for event in decoded(path)["traceEvents"]}
    assert "Memcpy HtoD (Pinned -> Device)" in names
    assert not any("Synchronize" in name for name in names)
    assert isinstance(report(path).outcomes["TDY104"], NotChecked)
    assert isinstance(report(path).outcomes["TDY302"], NotChecked)
