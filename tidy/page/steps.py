"""The steps of a run as the page draws them, and which of them its timeline shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..check.summary import RunSummary
from ..trace import Window, count_text, printable
from . import USUAL_STEPS


class ShownStep(NamedTuple):
    """A stretch of time that the timeline shows.

    Attributes:
        label: `step 7`, `the run` or `the run with what is left out`.
        number: its place among all steps by start, from 0; -1 for the run.
        why: "median", "slowest", "left out" or "".
        start_ns, end_ns: from the host's start to the end of the last device work of the step.
    """

    label: str
    number: int
    why: str
    start_ns: int
    end_ns: int


def steps_to_json(run: RunSummary, most: int) -> dict[str, Any]:
    """Return the name of a rank and its first steps by start, as columns.

    Of steps that do not count `left_out` has the reason, by their place among the steps.
    """
    steps = run.window.all_steps
    shown = steps[:most]
    return {
        "label": f"rank {run.rank}" if run.rank is not None else printable(run.path),
        "steps": {
            "number": [step.number for step, _, _ in shown],
            "duration_ns": [end_ns - start_ns for _, (start_ns, end_ns), _ in shown],
            "left_out": {at: reason for at, (_, _, reason) in enumerate(shown) if reason},
        },
        "more_steps": len(steps) - len(shown),
    }


def shown_steps(window: Window, asked: Sequence[str] = USUAL_STEPS) -> list[ShownStep]:
    """Choose steps by start; of a window without steps the whole run.

    Args:
        asked: numbers of steps, also of those that do not count, "median" and "slowest" (of those
            that count). If the window has none of them, it is the median one.
    """
    steps = window.all_steps
    counting = [at for at, (_, _, reason) in enumerate(steps) if not reason]
    counting.sort(key=lambda at: steps[at][1][1] - steps[at][1][0])
    words = {}
    if counting:
        words = {"slowest": counting[-1], "median": counting[(len(counting) - 1) // 2]}
    chosen = {words[word] for word in asked if word in words}
    chosen |= {at for at, (step, _, _) in enumerate(steps) if str(step.number) in asked}
    if not chosen and not counting:
        is_whole = window.end_ns - window.start_ns == window.time_ns
        label = "the run" if is_whole else "the run with what is left out"
        return [ShownStep(label, -1, "", window.start_ns, window.end_ns)]
    why = {at: word for word, at in words.items()}  # the only one is the median
    shown = []
    for at in sorted(chosen or {words["median"]}):
        step, (start_ns, end_ns), reason = steps[at]
        whole = min(step.start_ns, start_ns), max(step.end_ns, end_ns)
        label = f"{window.unit} {step.number}"
        shown.append(ShownStep(label, at, "left out" if reason else why.get(at, ""), *whole))
    return shown


def missing_steps_text(runs: Sequence[RunSummary], asked: Sequence[str]) -> str | None:
    """Say which of the steps that are asked for none of the traces has; None if there is none."""
    known = {str(step.number) for each in runs for step, _, _ in each.window.all_steps}
    missing = [each for each in asked if each not in USUAL_STEPS and each not in known]
    if not missing or not runs:
        return None
    has = f"{printable(runs[0].path)} has {runs[0].window.steps_text}"
    others = f"; nor is it in {count_text(len(runs) - 1, 'other trace')}" if runs[1:] else ""
    return f"--page-steps {','.join(missing)}: {has}{others}"
