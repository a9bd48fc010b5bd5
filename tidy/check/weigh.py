"""What findings weigh: how long a step takes after each fix, and after all of them.

A finding's edit is replayed over the steps of the window. From the difference follow its saving,
its severity, and the order of a report.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..account import HostTime, RankWaits
from ..finding import Finding, Judged, Saving, Severity
from ..savings import Edit, Fidelity, Savings
from ..trace import Location, Rows, Trace

# From this share of the window on a finding is a warning, else info: what it saves by the middle of
# its range or, where nothing is replayed, what it costs. It is more than replays of recorded steps
# err by (docs/savings.md), and less than most people would change a line for. `--warn-from` and
# `tidy.check(warn_from=...)` set another.
WARN_FROM = 0.01
_BEYOND = 2.0**63  # what an integer of numpy does not hold
# Host time of which a fix takes this much away and that saves less than this part of it is hidden.
_HIDDEN = 0.1
# The margin. A machine that does other things besides makes single steps longer, in whatever op it
# stops; the next run has other such steps. So a fix has to save WARN_FROM not only of the median
# step but in this part of the quicker half of the steps, or else much in some: then they are no
# accident.
_IN_MOST = 0.75
_OFTEN, _FEWEST, _MUCH = 0.25, 3, 0.1
_FEWEST_QUICK = 4  # one of them may be cut short


@dataclass(frozen=True, slots=True)
class Weighed:
    """Findings with their savings.

    Attributes:
        findings: by severity, and what saves most first.
        step_ns: the median recorded step of the window.
        step_ns_after: the same with all fixes made, at best and at worst; None where the replay
            abstains or no finding says what its fix changes.
        fidelity: of the replay; None where nothing was replayed.
        is_upper_bound: whether work of the devices is missing in the trace, so that more of the
            host's time may be hidden than the replay knows.
    """

    findings: tuple[Judged, ...]
    step_ns: int
    step_ns_after: tuple[int, int] | None = None
    fidelity: Fidelity | None = None
    is_upper_bound: bool = False


def weigh(
    trace: Trace,
    findings: Sequence[Finding],
    *,
    savings: str = "replay",
    warn_from: float | None = None,
    waits: RankWaits | None = None,
    everywhere: Container[tuple[str, Location | None]] = (),
) -> Weighed:
    """Replay what each finding's fix changes, and all of them together.

    Args:
        savings: "replay", or "off": then findings are weighed by what they cost.
        warn_from: the share of the window from which a finding is a warning; None for WARN_FROM.
        waits: how long collectives wait for other ranks, where their traces tell it.
        everywhere: code and place of the findings that all these ranks have.
    """
    warn_from = WARN_FROM if warn_from is None else warn_from
    steps = trace.window.step_ranges
    each_ns = [end - start for start, end in steps] or [trace.window.time_ns]
    # In damaged files they may be beyond what a column holds.
    most_ns = np.iinfo(np.int64).max
    lengths = np.array([min(max(each, -most_ns), most_ns) for each in each_ns], np.int64)
    step_ns = _median(lengths)
    judged = [Judged.of(each) for each in findings]
    by_cost = [_by_cost(each, warn_from) for each in judged]
    if savings == "off" or not step_ns or _is_beyond_numbers(trace):
        return Weighed(_ordered(by_cost), step_ns)
    others = None if waits is None else (waits.rows, waits.earliest_ns)
    stretches = steps or list(trace.window.time)
    replays = Savings(trace, stretches, HostTime(trace).main, others, is_run=not steps)
    lost = trace.may_lack_work
    if replays.fidelity.abstains:
        return Weighed(_ordered(by_cost), step_ns, None, replays.fidelity, lost)
    scale = _Scale(lengths, warn_from, bool(trace.devices_used))
    weighed = list[Judged]()
    for each in by_cost:
        if each.edit is None:
            weighed.append(each)
        else:
            alike = _key(each) in everywhere
            saved = replays.saved([each.edit], alike=alike)
            stated = replays.stated([each.edit], alike=alike)
            weighed.append(scale.weighed(each, saved, stated, each.edit))
    edited = [each for each in judged if each.edit is not None and each.acceptance is None]
    edits = [each.edit for each in edited if each.edit is not None]
    if not edits:
        return Weighed(_ordered(weighed), step_ns, None, replays.fidelity, lost)
    alike = all(_key(each) in everywhere for each in edited)
    low, high = scale.range_of(
        edited, replays.saved(edits, alike=alike), replays.stated(edits, alike=alike)
    )
    after = _median(lengths - high), _median(lengths - low)
    return Weighed(_ordered(weighed), step_ns, after, replays.fidelity, lost)


def _is_beyond_numbers(trace: Trace) -> bool:
    """Whether times of a damaged file are so long that a replay could not add them up."""
    in_all = float(trace.duration_ns.sum(dtype=np.float64)) + float(trace.span_ns)
    return abs(trace.start_ns_first) + 2 * in_all >= _BEYOND


def _key(finding: Finding) -> tuple[str, Location | None]:
    return finding.code, finding.location


def _by_cost(finding: Judged, warn_from: float) -> Judged:
    """The finding as it is without a replay: no fix saves more than what it mends costs."""
    too_little = finding.cost_share is not None and finding.cost_share < warn_from
    if finding.severity == Severity.WARNING and too_little:
        return replace(finding, severity=Severity.INFO)
    return finding


@dataclass(frozen=True, slots=True)
class _Scale:
    """What findings are weighed against.

    Attributes:
        lengths: of the recorded steps.
        warn_from: the share of their time that is worth a warning.
        has_device: whether a device took part, behind whose work the host's time may hide.
    """

    lengths: Rows
    warn_from: float
    has_device: bool

    def weighed(
        self, finding: Judged, saved: tuple[Rows, Rows], stated: tuple[Rows, Rows], edit: Edit
    ) -> Judged:
        """The finding with its saving, as severe as what it saves itself.

        Args:
            saved: at the least and at the most, in each step.
            stated: the same with what the host does besides faster or slower.
        """
        low, high = self.at_most([finding], saved)
        step_ns = _median(self.lengths)
        after_ns = _median(self.lengths - high), _median(self.lengths - low)
        severity = finding.severity
        if severity != Severity.ERROR:
            saved_ns = (low + high) / 2
            matters = step_ns - sum(after_ns) / 2 >= self.warn_from * step_ns
            matters = matters and self._matters_in_quick_steps(saved_ns)
            matters = matters or self._matters_now_and_then(saved_ns)
            worst = finding.correction.at_most or severity
            severity = min(worst, Severity.WARNING) if matters else Severity.INFO
        on_host = self.has_device and bool(edit.host) and not finding.on_device
        a_step_ns = finding.cost_ns / len(self.lengths)
        least, most = self.range_of([finding], saved, stated)
        saving = Saving(
            low_ns=int(low.sum()),
            high_ns=int(high.sum()),
            model=edit.model,
            step_ns=step_ns,
            step_ns_after=(_median(self.lengths - most), _median(self.lengths - least)),
            hidden=on_host and step_ns - after_ns[0] < _HIDDEN * a_step_ns,
        )
        return replace(finding, saving=saving, severity=severity)

    def _matters_in_quick_steps(self, saved: NDArray[np.float64]) -> bool:
        """Whether most of the steps that were disturbed least save enough."""
        quicker = np.argsort(self.lengths, kind="stable")
        quicker = quicker[: max(_FEWEST_QUICK, (len(saved) + 1) // 2)]
        enough = saved[quicker] >= self.warn_from * self.lengths[quicker]
        return int(np.count_nonzero(enough)) >= _IN_MOST * len(quicker)

    def _matters_now_and_then(self, saved: NDArray[np.float64]) -> bool:
        """Whether steps that are not the usual one save much, and are no exception.

        Two workers that are too slow give two batches at a time: every second step waits.
        """
        often = max(_OFTEN * len(saved), _FEWEST)
        total = float(saved.sum()) >= self.warn_from * float(self.lengths.sum())
        much = saved >= max(self.warn_from, _MUCH) * self.lengths
        return total and int(np.count_nonzero(much)) >= often

    def range_of(
        self, findings: Sequence[Finding], saved: tuple[Rows, Rows], stated: tuple[Rows, Rows]
    ) -> tuple[Rows, Rows]:
        """How much shorter a report says that each step gets, at the least and at the most.

        Where the costs are less than what a replay saves, they are in place of it.
        """
        ends = zip(self.at_most(findings, saved), saved, stated, strict=True)
        low, high = (
            np.where(exact > 0, said * (capped / np.maximum(exact, 1)), said).astype(np.int64)
            for capped, exact, said in ends
        )
        return low, np.minimum(high, self.lengths)

    @staticmethod
    def at_most(findings: Sequence[Finding], saved: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
        """What is saved in each step: in all no more than the costs, where these are known."""
        low, high = saved
        most_ns = sum(finding.cost_ns for finding in findings)
        is_known = all(finding.cost_ns or finding.events for finding in findings)
        if is_known and high.sum() > most_ns:
            high = (high * (most_ns / high.sum())).astype(np.int64)
        return np.minimum(low, high), high


def _median(lengths: Rows) -> int:
    return int(np.median(lengths))


def _ordered(findings: Sequence[Judged]) -> tuple[Judged, ...]:
    return tuple(sorted(findings, key=lambda f: importance(f, f.cost_ns, f.cost_share)))


def importance(finding: Judged, cost_ns: int, cost_share: float | None) -> tuple[float | str, ...]:
    """A key that sorts what matters most first: by severity, replayed saving, cost, then place."""
    saving = finding.saving
    return (
        -finding.severity,
        -(2 * saving.step_ns - sum(saving.step_ns_after) if saving else 0),
        -(cost_share or 0.0),
        -cost_ns,
        finding.code,
        str(finding.location or ""),
        finding.message,
    )
