"""The steps of a run as the page draws them, and which of them its timeline shows."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..check.checked_trace import CheckedTrace
from ..trace import Window

_MOST_STEPS = 2_000  # that are drawn as bars


class ShownStep(NamedTuple):
    """A stretch of time that the timeline shows.

    Attributes:
        label: `step 7`, or `the run`.
        why: "median", "slowest" or "".
        start_ns, end_ns: from the host's start to the end of the last device work of the step.
    """

    label: str
    why: str
    start_ns: int
    end_ns: int


def steps_to_json(report: CheckedTrace) -> list[dict[str, Any]]:
    """Return all steps by start: number, start, duration, and why one does not count."""
    window = report.trace.window
    ranges = zip(window.steps, window.finished_ranges, strict=True)
    steps = [(step.number, *lasts, "") for step, lasts in ranges]
    steps += [
        (each.step.number, each.start_ns, each.end_ns, each.reason)
        for each in window.left_out
        if each.step is not None
    ]
    steps.sort(key=lambda step: step[1])
    return [
        {"number": number, "start_ns": start, "duration_ns": end - start, "left_out": reason}
        for number, start, end, reason in steps[:_MOST_STEPS]
    ]


def shown_steps(window: Window) -> list[ShownStep]:
    """Choose the median and the slowest of the steps that count, by start; else the whole run."""
    if not window.steps:
        return [ShownStep("the run", "", window.start_ns, window.end_ns)]
    ranges = window.finished_ranges
    by_length = sorted(range(len(ranges)), key=lambda at: ranges[at][1] - ranges[at][0])
    chosen = {by_length[-1]: "slowest"}
    chosen[by_length[(len(by_length) - 1) // 2]] = "median"  # the only one is both
    shown = []
    for at in sorted(chosen):
        step, (start_ns, end_ns) = window.steps[at], ranges[at]
        whole = min(step.start_ns, start_ns), max(step.end_ns, end_ns)
        shown.append(ShownStep(f"{window.unit} {step.number}", chosen[at], *whole))
    return shown
