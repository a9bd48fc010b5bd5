"""The step after a fix, as it will be where nobody records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..account import HostTime
from ..finding import Finding
from ..savings import Savings
from ..trace import Trace


def predict(trace: Trace, findings: Sequence[Finding], measured_ns: int) -> tuple[int, int] | None:
    """The median step with all fixes made, at best and at worst.

    None where no fix says what it changes, the trace has no steps, or the replay abstains.

    Args:
        measured_ns: the median step of the same script with nothing recorded.
    """
    edits = [finding.edit for finding in findings if finding.edit is not None]
    steps = trace.window.step_ranges
    if not edits or not steps:
        return None
    savings = Savings(trace, steps, HostTime(trace).main, finished=trace.window.finished)
    if savings.fidelity.abstains:
        return None
    low, high = savings.unrecorded(edits)
    # Steps of a trace are as long as they are with nothing recorded, but of another run.
    scale = measured_ns / max(float(np.median(savings.unchanged)), 1.0)
    best, worst = (int(scale * np.median(savings.unchanged - each)) for each in (high, low))
    return min(best, worst), max(best, worst)
