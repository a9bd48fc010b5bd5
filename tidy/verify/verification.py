"""A script is recorded once; then its steps are timed as it stands, and with each correction."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..account import main_track
from ..check.pipeline import CheckSettings, check
from ..errors import UsageError
from ..finding import Finding
from ..patterns.base import Pattern
from ..run import RunOptions, record_once, time_once
from ..run.child.corrections import CORRECTIONS
from ..savings import Savings
from ..trace import Trace
from .recorded import RULES, OpTimes, time_ops

# What two medians of one script may differ by on a machine that does other things as well.
_TOLERANCE = 0.07


@dataclass(frozen=True)
class Measured:
    """The step with corrections switched on.

    Attributes:
        codes: of the rules that are corrected.
        correction: what was switched on, in words.
        predicted_ns: the median step after the fix, at best and at worst; None where the rules say
            nothing of it or the replay abstains.
        after_ns: the median step as measured.
    """

    codes: tuple[str, ...]
    correction: str
    predicted_ns: tuple[int, int] | None
    after_ns: int

    @property
    def is_as_predicted(self) -> bool | None:
        """Whether the measured step lies in the predicted range, give or take 7 %."""
        if self.predicted_ns is None:
            return None
        low, high = self.predicted_ns
        return low * (1 - _TOLERANCE) <= self.after_ns <= high * (1 + _TOLERANCE)


@dataclass(frozen=True)
class Verification:
    """What came of it.

    Attributes:
        script: as it is shown.
        step_count: steps behind each measured median.
        recorded_ns, before_ns: the median step recorded, and with nothing recorded.
        measured: one for each correction, and one for all where there are several.
        ops: single ops, wrong and corrected.
        left: codes of rules with findings for which there is nothing to switch on.
    """

    script: str
    step_count: int
    recorded_ns: int
    before_ns: int
    measured: tuple[Measured, ...]
    ops: tuple[OpTimes, ...]
    left: tuple[str, ...]


def verify(
    options: RunOptions, rules: Sequence[Pattern], runs: int, say: Callable[[str], None]
) -> Verification:
    """Record a script, and time it without and with the corrections of what was found.

    Args:
        rules: those whose findings are looked at.
        runs: how often each form is timed; they take turns, so that a slow minute hits all.
        say: called with what is about to be done.

    Raises:
        UsageError: the script cannot be run or timed, or nothing was found that can be verified.
    """
    if options.is_launcher:
        raise UsageError(f"{options.shown} starts several processes; verify times one")
    say("recording")
    trace, framework = record_once(replace(options, stack=False, memory=False, stop_after=True))
    (report,) = check([trace], CheckSettings(rules, savings="off"))
    findings = [one for each in report.checked.values() for one in each.findings]
    codes = sorted({finding.code for finding in findings})
    switched = [code for code in codes if code in CORRECTIONS]
    if not switched and not RULES & set(codes):
        found = ", ".join(codes) or "nothing"
        raise UsageError(
            f"{options.shown}: found {found}; corrections can be switched on for"
            f" {', '.join(sorted(CORRECTIONS))}"
        )
    forms: list[list[str]] = [[], *([code] for code in switched)]
    if len(switched) > 1:
        forms.append(switched)
    times: list[list[int]] = [[] for _ in forms]
    for turn in range(runs if switched else 0):
        for number, form in enumerate(forms):
            what = f"with {', '.join(form)} corrected" if form else "as it stands"
            say(f"timing {what} ({turn + 1} of {runs})")
            times[number] += time_once(options, form)
    before_ns, *after_ns = (round(statistics.median(each)) if each else 0 for each in times)
    measured = tuple(
        Measured(tuple(form), _words(form), _predict(trace, findings, form, before_ns), step_ns)
        for form, step_ns in zip(forms[1:], after_ns, strict=True)
    )
    lengths = [step.duration_ns for step in trace.window.steps]
    return Verification(
        options.shown,
        len(times[0]),
        round(statistics.median(lengths)) if lengths else 0,
        before_ns,
        measured,
        tuple(time_ops(findings, framework, options)),
        tuple(code for code in codes if code not in CORRECTIONS and code not in RULES),
    )


def _words(codes: Sequence[str]) -> str:
    return CORRECTIONS[codes[0]][0] if len(codes) == 1 else "all of these"


def _predict(
    trace: Trace, findings: Sequence[Finding], codes: Sequence[str], before_ns: int
) -> tuple[int, int] | None:
    chosen = [each for each in findings if each.code in codes and each.edit is not None]
    if {each.code for each in chosen} != set(codes):
        return None
    return predict(trace, chosen, before_ns)


def predict(trace: Trace, findings: Sequence[Finding], measured_ns: int) -> tuple[int, int] | None:
    """Return the median step with all fixes made, at best and at worst.

    None where no fix says what it changes, the trace has no steps, or the replay abstains.

    Args:
        measured_ns: the median step of the same script with nothing recorded.
    """
    edits = [finding.edit for finding in findings if finding.edit is not None]
    steps = trace.window.step_ranges
    if not edits or not steps:
        return None
    savings = Savings(trace, steps, main_track(trace), finished=trace.window.finished)
    if savings.fidelity.abstains:
        return None
    low, high = savings.unrecorded(edits)
    # Steps of a trace are as long as they are with nothing recorded, but of another run.
    scale = measured_ns / max(float(np.median(savings.unchanged)), 1.0)
    best, worst = (int(scale * np.median(savings.unchanged - each)) for each in (high, low))
    return min(best, worst), max(best, worst)
