"""The steps of a run as the page draws them, and which of them its timeline shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..check.checked_trace import CheckedTrace
from ..trace import Window

USUAL_STEPS = ("median", "slowest")
_MOST_STEPS = 2_000  # that are drawn as bars


class ShownStep(NamedTuple):
    """A stretch of time that the timeline shows.

    Attributes:
        label: `step 7`, or `the run`.
        why: "median", "slowest", "left out" or "".
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


def shown_steps(window: Window, asked: Sequence[str] = USUAL_STEPS) -> list[ShownStep]:
    """Choose steps by start; of a window without steps the whole run.

    Args:
        asked: numbers of steps, also of those that do not count, "median" and "slowest" (of those
            that count). If the window has none of them, it is the median one.
    """
    if not window.steps:
        return [ShownStep("the run", "", window.start_ns, window.end_ns)]
    counting = list(zip(window.steps, window.finished_ranges, strict=True))
    by_length = sorted(range(len(counting)), key=lambda at: _length_ns(counting[at][1]))
    special = {"slowest": by_length[-1], "median": by_length[(len(by_length) - 1) // 2]}
    words = {word: counting[at][0].number for word, at in special.items()}
    steps = {step.number: (step, lasts, "") for step, lasts in counting}
    for each in window.left_out:
        if each.step is not None:
            steps[each.step.number] = each.step, (each.start_ns, each.end_ns), "left out"
    numbers = {words.get(word, int(word) if word.isdecimal() else -1) for word in asked}
    chosen = (numbers & steps.keys()) or {words["median"]}
    why = {number: word for word, number in words.items()}  # the only one is the median
    shown = []
    for number in chosen:
        step, (start_ns, end_ns), left_out = steps[number]
        whole = min(step.start_ns, start_ns), max(step.end_ns, end_ns)
        label = f"{window.unit} {number}"
        shown.append(ShownStep(label, left_out or why.get(number, ""), *whole))
    return sorted(shown, key=lambda each: each.start_ns)


def _length_ns(lasts: tuple[int, int]) -> int:
    return lasts[1] - lasts[0]
