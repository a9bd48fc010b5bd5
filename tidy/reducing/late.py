"""TDY902 of more ranks than are held in memory: from the tables of collectives in summaries.

The waiting of each rank is what the table tells, and so is whom it waits for. A table has no lines
of source and no launches, so that nothing is said of why the late one is late, and no replay moves
the rank's own work: its finding has a cost, and no saving.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..account import jobs_of
from ..check.pipeline import CheckSettings
from ..check.weigh import importance
from ..finding import Crashed, NotChecked, Severity
from ..jobs import Matched, MemberWaits, align, match, waits_of
from ..patterns.rules.late_rank import LateRank
from ..patterns.runner import crashed_by
from ..summary import EventSummary, FindingSummary, Summary
from ..trace import time_text

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_UNMATCHED = NotChecked(
    "the collectives of this rank could not be matched with the others'",
    "record the same steps of all ranks, with shapes",
)
_HIDDEN = NotChecked(
    "what other work hides of the collectives of this rank is not known",
    "record all of its steps; of collectives on the host give fewer traces together",
)
_OF_SUMMARIES = NotChecked("some ranks are given as summaries", "give the traces of all ranks")
_MOST_EVENTS = 20


def with_late_ranks(
    summaries: Sequence[Summary], checks: CheckSettings, tracebacks: dict[str, Mapping[str, str]]
) -> list[Summary]:
    """Say of each rank of a job whether it waits for others, where the rule for it is asked for.

    Args:
        tracebacks: of rules that crashed, by code, by file; those of this rule are added.
    """
    rule = next((each for each in checks.rules if isinstance(each, LateRank)), None)
    result = list(summaries)
    if rule is None:
        return result
    for given in jobs_of([each.run for each in summaries]):
        # A rank whose number is damage is none of the job.
        job = [one for one in given if summaries[one].run.rank == summaries[one].collectives.rank]
        if len(job) > 1:
            ranks = [summaries[number] for number in job]
            try:
                told = _of_job(ranks, rule, checks)
            except Exception as error:  # as of any rule: the others are reported
                crashed = crashed_by(error)
                told = [_with_crash(each, rule.code, crashed) for each in ranks]
                for each in ranks:
                    of_file = tracebacks.get(each.run.path, {})
                    tracebacks[each.run.path] = {**of_file, rule.code: crashed.traceback}
            for number, summary in zip(job, told, strict=True):
                result[number] = summary
    return result


def _with_crash(summary: Summary, code: str, crashed: Crashed) -> Summary:
    others = {each: why for each, why in summary.not_checked.items() if each != code}
    crash = replace(crashed, traceback="")
    return replace(summary, not_checked=others, crashed={**summary.crashed, code: crash})


def without_late_ranks(summary: Summary, given: Sequence[Summary]) -> Summary:
    """Take what a rule said by comparing ranks back if others of its job are summaries."""
    world_size = summary.run.world_size or 1
    if LateRank.code not in summary.checked or world_size < 2:
        return summary
    if all((each.run.world_size or 1) != world_size for each in given):
        return summary
    findings = [each for each in summary.findings if each.code != LateRank.code]
    return replace(
        summary,
        checked=tuple(code for code in summary.checked if code != LateRank.code),
        not_checked={**summary.not_checked, LateRank.code: _OF_SUMMARIES},
        findings=tuple(replace(each, number=at) for at, each in enumerate(findings)),
    )


def _of_job(ranks: Sequence[Summary], rule: LateRank, checks: CheckSettings) -> list[Summary]:
    matched = match([each.collectives for each in ranks])
    job = _Job(ranks, matched, waits_of(matched, align(matched)))
    return [_told(each, job, rule, checks.warn_from) for each in ranks]


class _Job:
    """The matched collectives of a job's ranks, those in the windows of their reports."""

    def __init__(self, ranks: Sequence[Summary], matched: Matched, waits: MemberWaits) -> None:
        self.matched, self.waits = matched, waits
        self.count, self.world_size = len(ranks), ranks[0].run.world_size or len(ranks)
        self.place = {rank: place for place, rank in enumerate(matched.ranks.tolist())}
        self.is_retimed = any(each.run.times != "recorded" for each in ranks)
        order = np.argsort(matched.place, kind="stable")
        bounds = np.searchsorted(matched.place[order], np.arange(len(self.place) + 1))
        known = waits.is_known[matched.collective]
        self._members = dict[int, Ints]()
        for each in ranks:
            place = self.place[each.collectives.rank]
            rows = order[bounds[place] : bounds[place + 1]]
            inside = _in_window(each, matched.start_ns[rows])
            self._members[place] = rows[known[rows] & inside]

    def members(self, place: int) -> Ints:
        """Return the collectives of a rank that count, as members of `matched`."""
        return self._members[place]

    def waiting_ns(self, place: int) -> int:
        """Return how long a rank waits in them."""
        return int(self.waits.waiting_ns[self.members(place)].sum())

    def late(self, place: int, rule: LateRank) -> int | None:
        """Find the place of the rank that one waits for; None where they come last by turns."""
        mine = self.members(place)
        last = self.waits.last[self.matched.collective[mine]]
        by_place = np.bincount(last, self.waits.waiting_ns[mine])
        late = int(by_place.argmax())
        is_most = by_place[late] >= rule.most_of_waiting * by_place.sum()
        waits_too = self.waiting_ns(late) > rule.far_less * by_place[late]
        return None if late == place or not is_most or waits_too else late


def _in_window(summary: Summary, times_ns: Ints) -> Bools:
    time = summary.run.window.time
    if not len(time):
        return np.zeros(len(times_ns), bool)
    at = np.searchsorted(time.starts_ns, times_ns, side="right") - 1
    inside: Bools = (at >= 0) & (times_ns < time.ends_ns[np.maximum(at, 0)])
    return inside


def _told(summary: Summary, job: _Job, rule: LateRank, warn_from: float) -> Summary:
    """Put what the other ranks tell into the summary of one."""
    if rule.code not in summary.not_checked:  # it has no collective, or several devices
        return summary
    mine = job.members(job.place[summary.collectives.rank])
    exposed_ns = job.matched.exposed_ns[mine]
    obstacle = _UNMATCHED if not len(mine) else _HIDDEN if (exposed_ns < 0).all() else None
    if obstacle is not None:
        return replace(summary, not_checked={**summary.not_checked, rule.code: obstacle})
    others = {code: why for code, why in summary.not_checked.items() if code != rule.code}
    checked = (*summary.checked, rule.code)
    found = _finding(summary, mine, job, rule, warn_from)
    findings = sorted(
        [*summary.findings, *found], key=lambda each: importance(each, each.saving, each.cost_ns)
    )
    numbered = tuple(replace(each, number=at) for at, each in enumerate(findings))
    return replace(summary, not_checked=others, checked=checked, findings=numbered)


def _finding(
    summary: Summary, mine: Ints, job: _Job, rule: LateRank, warn_from: float
) -> list[FindingSummary]:
    """The finding that a rank waits, where that is worth a word."""
    matched, waits, window = job.matched, job.waits, summary.run.window
    waiting = waits.waiting_ns[mine]
    # What other work hides of a collective may be any part of it.
    hidden = (matched.end_ns - matched.start_ns)[mine] - np.maximum(matched.exposed_ns[mine], 0)
    exposed = np.maximum(waiting - hidden, 0)
    time_ns = int(exposed.sum())
    share = min(time_ns / window.time_ns, 1.0) if window.time_ns else 0.0
    if share < rule.least_share:
        return []
    place = job.place[summary.collectives.rank]
    late = job.late(place, rule)
    if late is None and job.is_retimed:  # times of other steps tell of no turns
        return []
    rank = summary.collectives.rank
    whom = "other ranks, which come last by turns"
    if late is not None:
        last = waits.last[matched.collective[mine]] == late
        late_ns = float(exposed[last].sum()) / window.step_count
        times = f"{np.count_nonzero(last):,} of {len(mine):,} collectives"
        by = f"by {time_text(late_ns)} a {window.unit}"
        whom = f"rank {int(matched.ranks[late])}, which comes last to {times}, {by}"
        if job.count < job.world_size:
            whom += f" (of {job.count} of {job.world_size} ranks)"
    some = mine[waiting > 0]
    some = some[np.argsort(matched.start_ns[some], kind="stable")]
    return [
        FindingSummary(
            number=0,
            code=rule.code,
            name=rule.slug(),
            severity=Severity.WARNING if share >= warn_from else Severity.INFO,
            message=f"rank {rank} waits for {whom}",
            location=None,
            fix=rule.fix,
            fix_what="",
            fix_location=None,
            why_no_edit=rule.why_no_edit,
            count=len(some),
            cost_ns=round(time_ns / window.step_count),
            cost_share=share,
            on_device=True,
            in_window=True,
            saving=None,
            acceptance=None,
            known=None,
            events=tuple(_event(matched, each) for each in some[:_MOST_EVENTS].tolist()),
            called_from=(),
        )
    ]


def _event(matched: Matched, member: int) -> EventSummary:
    start_ns = int(matched.start_ns[member])
    name = matched.operations[int(matched.operation[matched.collective[member]])]
    return EventSummary(name, start_ns, int(matched.end_ns[member]) - start_ns)
