"""The cost and the saving of findings: how much shorter a step gets after each fix, and all.

A finding's edit is replayed over the steps of the window: with nothing left of what it changes,
which is what the finding costs, and as the fix would have it, which is what it saves. Both are of
one step, in the mean. The printed range alone decides the severity, and the order of a report.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..account import RankWaits, main_track
from ..finding import Described, Finding, Judged, Saving, Severity
from ..patterns.evidence.fixes.edits import host_time
from ..savings import Edit, Fidelity, Savings, why_little
from ..trace import EventKind, Intervals, Location, Rows, Trace
from .summary import is_next_to_nothing

# From this share of the window on a finding is a warning, else info: what it saves by the middle of
# its range or, where nothing is replayed, what it costs. It is more than replays of recorded steps
# err by (docs/savings.md), and less than most people would change a line for. `--warn-from` and
# `tidy.check(warn_from=...)` set another.
WARN_FROM = 0.01
_SURE_PART = 0.5  # of that share: what a warning saves at the least
_BEYOND = 2.0**63  # too large for an integer of numpy
# A machine that does other things besides makes single steps longer, in whatever op it stops; the
# next run has other such steps. So what is saved is sure only where WARN_FROM of it is saved in
# this part of the quicker half of the steps, or much in some: then they are no accident.
_IN_MOST = 0.75
_OFTEN, _FEWEST, _MUCH = 0.25, 3, 0.1
_FEWEST_QUICK = 4  # one of them may be cut short


@dataclass(frozen=True, slots=True)
class Weighed:
    """Findings with their costs and savings.

    Attributes:
        step_ns: a step of the window, in the mean; the run where it has no steps.
        step_ns_after: the same with all fixes made, at best and at worst; None where the replay
            abstains or no finding says what its fix changes.
    """

    findings: tuple[Judged, ...]
    step_ns: int
    step_ns_after: tuple[int, int] | None = None
    fidelity: Fidelity | None = None


def weigh(
    trace: Trace,
    findings: Sequence[Finding],
    *,
    savings: str = "replay",
    warn_from: float = WARN_FROM,
    waits: RankWaits | None = None,
    everywhere: Container[tuple[str, Location | None]] = (),
) -> Weighed:
    """Replay what each finding's fix changes, and all of them together.

    Args:
        savings: "replay", or "off": then findings are weighed by what they cost.
        warn_from: the share of the window from which a finding is a warning.
        waits: how long collectives wait for other ranks, where their traces tell it.
        everywhere: code and location of the findings that all these ranks have.
    """
    steps, step_ns = trace.window.step_ranges, trace.window.step_ns
    judged = [_by_cost(Judged.of(each), warn_from) for each in findings]
    if is_next_to_nothing(trace):
        return Weighed(_ordered([_without_share(_unsure(each)) for each in judged]), step_ns)
    if savings == "off" or not step_ns or _is_beyond_numbers(trace):
        return Weighed(_ordered(judged), step_ns)
    others = None if waits is None else (waits.rows, waits.earliest_ns)
    stretches = steps or list(trace.window.time)
    replays = Savings(
        trace,
        stretches,
        main_track(trace),
        others,
        is_run=not steps,
        finished=trace.window.finished,
    )
    if replays.fidelity.abstains:
        return Weighed(_ordered(list(map(_unsure, judged))), step_ns, None, replays.fidelity)
    finished = trace.window.finished_ranges
    lengths = np.array([end - start for start, end in finished] or [trace.window.time_ns], np.int64)
    waiting = Intervals() if waits is None else waits.time(trace)
    scale = _Scale(trace, replays, lengths, step_ns, warn_from, waiting)
    judged = [scale.weighed(each, alike=_key(each) in everywhere) for each in judged]
    counting = [each for each in judged if each.edit is not None and each.acceptance is None]
    after = scale.step_ns_after(counting, everywhere) if counting else None
    return Weighed(_ordered(judged), step_ns, after, replays.fidelity)


def _is_beyond_numbers(trace: Trace) -> bool:
    """Tell whether times of a damaged file are too long for a replay to add up."""
    in_all = float(trace.duration_ns.sum(dtype=np.float64)) + float(trace.span_ns)
    return abs(trace.start_ns_first) + 2 * in_all >= _BEYOND


def _key(finding: Finding) -> tuple[str, Location | None]:
    return finding.code, finding.location


def _by_cost(finding: Judged, warn_from: float) -> Judged:
    """The finding as it is without a replay: no fix saves more than what it corrects costs."""
    too_little = finding.cost_share is not None and finding.cost_share < warn_from
    if finding.severity == Severity.WARNING and too_little:
        return replace(finding, severity=Severity.INFO)
    return finding


def _unsure(finding: Judged) -> Judged:
    """The finding as no more than an info if only a replay could have told what its fix saves."""
    if finding.edit is None or finding.severity == Severity.ERROR:
        return finding
    return replace(finding, severity=Severity.INFO)


def _without_share(finding: Judged) -> Judged:
    """The finding with its time alone: of a recording of a few events no share says anything."""
    return replace(finding, cost=replace(finding.cost, share=None))


@dataclass(frozen=True, slots=True)
class _Scale:
    """The replays, and the lengths of the steps, that findings are weighed against.

    Attributes:
        waiting: the time in which collectives wait for other ranks.
    """

    trace: Trace
    replays: Savings
    lengths: Rows
    step_ns: int
    warn_from: float
    waiting: Intervals

    def of_a_step(self, each: Rows) -> int:
        """Return the mean of what all steps save."""
        return min(round(float(each.sum()) / len(self.lengths)), self.step_ns)

    def step_ns_after(
        self, findings: Sequence[Judged], everywhere: Container[tuple[str, Location | None]]
    ) -> tuple[int, int]:
        """Return a step after all these fixes, at best, and after those alone that surely save."""
        low, high = self._saved(findings, everywhere)
        sure = [each for each in findings if each.saving is not None and each.saving.low_ns]
        if len(sure) < len(findings):
            of_sure = self._saved(sure, everywhere)[0] if sure else np.zeros_like(low)
            low = np.minimum(low, of_sure)  # another rank may be the late one without the others
        saved_ns = self.of_a_step(high), self.of_a_step(np.minimum(low, high))
        return self.step_ns - saved_ns[0], self.step_ns - saved_ns[1]

    def _saved(
        self, findings: Sequence[Judged], everywhere: Container[tuple[str, Location | None]]
    ) -> tuple[Rows, Rows]:
        """Return the ns that each step loses with all of these corrected, at least and at most."""
        edits = [each.edit for each in findings if each.edit is not None]
        return self.replays.saved(edits, alike=all(_key(each) in everywhere for each in findings))

    def weighed(self, finding: Judged, *, alike: bool) -> Judged:
        """Return the finding with what it costs and saves, as severe as what it saves."""
        edit = finding.edit
        if edit is None:
            return self._with_cost(finding)
        cost = self._cost(finding, edit)
        low, high = self.replays.saved([edit], alike=alike)
        low, high = np.minimum(low, cost), np.minimum(high, cost)
        low_ns, high_ns = self.of_a_step(low), self.of_a_step(high)
        worth_ns = self.warn_from * self.step_ns
        hidden, why, worst = False, edit.untold, finding.correction.at_most or finding.severity
        if worst == Severity.INFO:
            low_ns = 0
        elif (low_ns + high_ns) / 2 >= worth_ns and not self._recurs((low + high) / 2):
            often = int(np.count_nonzero(low + high >= 2 * self.warn_from * self.lengths))
            low_ns, why = (
                0,
                f"so much in only {often:,} of {len(self.lengths):,} {self.trace.window.unit}s",
            )
        if high_ns < worth_ns:
            hidden, why = why_little(self.trace, edit, self.waiting)
        saving = Saving(low_ns, high_ns, self.step_ns, edit.model, why, hidden)
        severity = finding.severity
        if severity != Severity.ERROR:
            matters = saving.middle_ns >= worth_ns and low_ns >= _SURE_PART * worth_ns
            severity = min(worst, Severity.WARNING) if matters else Severity.INFO
        return replace(self._costing(finding, cost), saving=saving, severity=severity)

    def _cost(self, finding: Judged, edit: Edit) -> Rows:
        """Return the time in ns that each step would lose if what the fix changes took none.

        A wait costs no more than a device idles because of it.
        """
        cost = self.replays.cost([edit])
        most_ns = finding.cost_ns * len(self.lengths)
        is_wait = not edit.host and not len(edit.work)
        if is_wait and cost.sum() > most_ns:
            cost = (cost * (most_ns / cost.sum())).astype(np.int64)
        return cost

    def _with_cost(self, finding: Judged) -> Judged:
        """Return the finding with the time that steps would lose without its rows, if known."""
        rows = finding.cost.rows
        if rows is None or not len(rows):
            return finding
        return _by_cost(
            self._costing(finding, self.replays.cost([_without(self.trace, rows)])), self.warn_from
        )

    def _costing(self, finding: Judged, cost: Rows) -> Judged:
        ns = self.of_a_step(cost)
        share = None if finding.cost_share is None and not ns else ns / self.step_ns
        return replace(finding, cost=replace(finding.cost, ns=ns, share=share))

    def _recurs(self, saved: NDArray[np.float64]) -> bool:
        """Tell whether enough steps save much for it to be no accident of this run."""
        quicker = np.argsort(self.lengths, kind="stable")
        quicker = quicker[: max(_FEWEST_QUICK, (len(saved) + 1) // 2)]
        enough = saved[quicker] >= self.warn_from * self.lengths[quicker]
        if int(np.count_nonzero(enough)) >= _IN_MOST * len(quicker):
            return True
        # Two workers that are too slow give two batches at a time: every second step waits.
        often = max(_OFTEN * len(saved), _FEWEST)
        much = saved >= max(self.warn_from, _MUCH) * self.lengths
        return int(np.count_nonzero(much)) >= often


def _without(trace: Trace, rows: Rows) -> Edit:
    """The run without the time of these rows, and without the waits in them."""
    on_host = rows[trace.device[rows] < 0]
    host = host_time(trace, on_host)
    calls = on_host[trace.kind[on_host] == EventKind.Runtime]
    return Edit("none of it", host=host, work=rows[trace.device[rows] >= 0], waits=calls)


def _ordered(findings: Sequence[Judged]) -> tuple[Judged, ...]:
    return tuple(sorted(findings, key=lambda each: importance(each, each.saving, each.cost_ns)))


def importance(finding: Described, saving: Saving | None, cost_ns: int) -> tuple[float | str, ...]:
    """Return a key that sorts errors first, then what saves most, or costs most if no saving is
    known.
    """
    matters = saving.middle_ns if saving is not None else cost_ns
    return (
        -(finding.severity == Severity.ERROR),
        -matters,
        -finding.severity,
        -cost_ns,
        finding.code,
        str(finding.location or ""),
        finding.message,
    )
