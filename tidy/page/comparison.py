"""The page of `tidy diff`: what changed, and a step of each run above the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..check.checked_trace import CheckedTrace
from ..diff import Comparison, wording
from ..report.json_report import written_by
from ..summary import summary_of
from ..trace import printable, time_text
from .content import rank_to_json
from .document import document
from .ranks import most_steps_of
from .slices import StepSlices
from .steps import shown_steps


def comparison_to_html(
    pair: Comparison,
    allowed: float | None,
    base: Sequence[CheckedTrace],
    new: Sequence[CheckedTrace],
) -> str:
    """Return the page of a comparison.

    Args:
        allowed: by what part steps may grow; None where nothing is asked.
        base, new: the traces of both sides; none where a report was given in their place.
    """
    return document({"tool": written_by(), "diff": _content(pair, allowed, base, new)})


def _content(
    pair: Comparison,
    allowed: float | None,
    base: Sequence[CheckedTrace],
    new: Sequence[CheckedTrace],
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "base": printable(wording.side_text(pair.base)),
        "new": printable(wording.side_text(pair.new)),
        "verdict": pair.verdict if not pair.differences else "",
        "verdict_text": printable(wording.verdict_text(pair)),
        "differences": [printable(wording.difference_text(each)) for each in pair.differences],
        "panes": [],
    }
    if pair.differences:
        return made
    came, went = pair.findings
    certain = [each for each in pair.ops if each.is_certain]
    notes = [printable(note) for note in wording.notes(pair)]
    if allowed is not None:
        notes.insert(0, wording.regression_text(pair.least_regression, allowed))
    return made | {
        "notes": notes,
        "ops": [
            {
                "what": each.what,
                "text": printable(wording.op_text(each)),
                "times": wording.op_times(each),
                "grows": each.of_step.estimate > 0,
            }
            for each in certain
        ],
        "uncertain": len(pair.ops) - len(certain),
        "account": [
            {
                "part": part.part,
                "cause": part.cause,
                "text": str(part),
                "base_ns": base_ns,
                "new_ns": new_ns,
                "base_text": time_text(round(base_ns)),
                "new_text": time_text(round(new_ns)),
            }
            for part, base_ns, new_ns in pair.account
        ],
        "findings": [
            {"what": what, "text": printable(wording.finding_text(found))}
            for what, some in (("new", came), ("gone", went))
            for found in some
        ],
        "memory": [printable(wording.memory_text(each)) for each in pair.memory],
        "panes": [
            _pane(name, reports[0]) for name, reports in (("base", base), ("new", new)) if reports
        ],
    }


def _pane(name: str, report: CheckedTrace) -> dict[str, Any]:
    """The median step of a side, of its first rank or run."""
    trace = report.trace
    steps = [each for each in shown_steps(trace.window) if each.why != "slowest"]
    steps = steps or shown_steps(trace.window)
    slices = [StepSlices(trace, each) for each in steps] if len(trace) else []
    return {**rank_to_json(summary_of(report), slices, most_steps_of(1)), "name": name}
