"""Savings of recorded programs, beside the step that was measured after the change was made.

What was recorded before a change is in tests/data/packed/pairs, the largest beside the checkout;
the README there says what was changed, and how long a step took before and after. Two recordings of
unchanged code differ by up to 2.7 %.
"""

from __future__ import annotations

import pytest

import tidy
from tidy import Finding

from .shared import FOLDER, NO_TRACES, PACKED

_PLACES = (PACKED / "pairs", FOLDER.parent / "pairs")
_NEAR = 0.02  # two recordings of unchanged code differ by as much


def _trace(pair: str, member: str) -> tidy.Trace:
    found = [path for place in _PLACES for path in (place / pair).glob(f"{member}.json*")]
    if not found and not _PLACES[1].is_dir():
        pytest.skip(NO_TRACES)
    return tidy.load(found[0])


def _before(pair: str, code: str) -> list[Finding]:
    """What a rule finds before the change, what saves most first."""
    return list(tidy.check(_trace(pair, "before"), select=[code]).findings)


@pytest.mark.parametrize(
    ("pair", "before_ms", "after_ms"),
    [
        ("copy_non_blocking", 67.50, 67.95),
        ("copy_pin_memory", 67.95, 30.80),
        ("cuda_graph_manual_capture", 2.37, 0.90),
        ("sam2_vectorised_rle_loop", 1361, 1131),
        ("sam_null_comments_only", 673.4, 684.2),
    ],
)
def test_steps_are_as_long_as_measured(pair: str, before_ms: float, after_ms: float) -> None:
    """By the distance of the ends of their device work in the median, or by the call's span."""
    for member, measured_ms in (("before", before_ms), ("after", after_ms)):
        summary = tidy.check(_trace(pair, member)).summary
        length_ns = summary.median_ns or summary.window_ns
        assert length_ns / 1e6 == pytest.approx(measured_ms, rel=0.03)


def _step_after_ms(finding: Finding) -> tuple[float, float]:
    assert finding.saving is not None
    low_ns, high_ns = finding.saving.step_ns_after
    return low_ns / 1e6, high_ns / 1e6


@pytest.mark.parametrize(
    ("pair", "code", "measured_ms"),
    [
        ("cuda_graph_manual_capture", "TDY402", 0.90),
        ("sam2_vectorised_rle_loop", "TDY404", 1131.0),
    ],
)
def test_the_step_is_near_the_measured_one(pair: str, code: str, measured_ms: float) -> None:
    low_ms, high_ms = _step_after_ms(_before(pair, code)[0])
    assert (1 - _NEAR) * low_ms <= measured_ms <= (1 + _NEAR) * high_ms


def test_the_whole_step_can_be_captured() -> None:
    (found,) = _before("cuda_graph_manual_capture", "TDY402")
    assert "the same in each" in found.message
    assert found.fix.startswith("capture the step in a CUDA graph")
    assert found.saving is not None
    assert "the model's forward and backward alone" in found.saving.why
    # The same training with only these captured went from 2.32 to 1.33 ms.
    low_ms, high_ms = (each / found.saving.step_ns for each in found.saving.step_ns_after)
    assert low_ms <= 1.33 / 2.32 <= high_ms


def test_pinned_memory_is_within_its_range() -> None:
    """How fast copies are after pinning is not in the trace: the range is wide, and says so."""
    (found,) = _before("copy_pin_memory", "TDY103")
    low_ms, high_ms = _step_after_ms(found)
    assert low_ms <= 30.80 <= high_ms
    assert found.saving is not None
    assert found.saving.why == (
        "the rate after pinning is not in the trace: 5 GB/s, or up to 26 GB/s"
    )


def test_without_pinned_memory_nothing_is_promised_of_non_blocking() -> None:
    assert _before("copy_non_blocking", "TDY104") == []
    (pinned,) = _before("copy_non_blocking", "TDY103")
    assert "pin_memory=True" in pinned.fix
