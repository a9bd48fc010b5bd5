"""Reports of one job put together, since the ranks of a distributed run share most findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..account import Account, jobs_of
from ..check.checked_trace import CheckedTrace
from ..check.summary import RunSummary
from ..check.weigh import importance
from ..finding import Crashed, NotApplicable, NotChecked, Severity
from ..jobs import ranks_text
from ..summary import Fidelity, FindingSummary, Summary, summary_of
from ..trace import count_text

if TYPE_CHECKING:
    from ..summary import Job

# An info of less than this part of the window is named in one line with others of its kind.
SMALL_SHARE = 0.0005
# What messages say of one rank alone, and of another in other numbers or another unit.
NUMBER = re.compile(r"\d[\d.,]*( ?(ns|us|ms|s|B|[kKMGT]i?B)\b|%)?")


@dataclass(frozen=True, slots=True)
class PlaceOnRanks:
    """One line of a report: all findings with the same message at one location, on all ranks.

    Attributes:
        finding: the costliest of them.
        count: the number of matches on all ranks.
        cost_ns: what they cost of a step, on the rank where it is most.
        cost_share: that as a part of the step, 0 to 1; None where no step is touched.
        ranks: the ranks that have the finding.
        rank: the one whose figures these are.
        spread_ns: the least, the median and the most of what they cost of a step, over the ranks
            that have the finding.
        alike: all of them, each with the number of its report within the section.
    """

    finding: FindingSummary
    count: int
    cost_ns: int
    cost_share: float | None
    ranks: tuple[int, ...]
    rank: int
    spread_ns: tuple[int, int, int]
    alike: tuple[tuple[int, FindingSummary], ...] = ()

    @property
    def is_small(self) -> bool:
        """True if it costs and saves next to nothing, so that it gets no lines of its own."""
        finding, saving = self.finding, self.finding.saving
        if self.cost_share is None or finding.severity > Severity.INFO or finding.code == "TDY000":
            return False  # a finding without a known cost says something else
        if saving is not None and saving.why:
            return False
        saved = 0.0 if saving is None else saving.high_ns / max(saving.step_ns, 1)
        return max(self.cost_share, saved) < SMALL_SHARE


@dataclass(frozen=True, slots=True)
class Gap:
    """Rules that could not check the same ranks for the same reason."""

    why: NotChecked
    codes: tuple[str, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Section:
    """The contents of a report on one trace, or on the ranks of one job together.

    Attributes:
        reports: one a trace, by rank.
        note: what is to be said of it beside other jobs; "" for nothing.
        among: of one rank of several that were given, how many these are.
    """

    reports: Sequence[Summary]
    note: str = ""
    among: int = 0

    @cached_property
    def runs(self) -> list[RunSummary]:
        """The summary of each trace."""
        return [report.run for report in self.reports]

    @property
    def rank_count(self) -> int:
        """The number of ranks; 0 where the job was not distributed."""
        return len(self.runs) if (self.runs[0].world_size or 1) > 1 else 0

    @property
    def name(self) -> str:
        """What tells it from others: `runs/rank-0.json and 7 more ranks`."""
        more = len(self.runs) - 1
        return self.runs[0].path + (f" and {count_text(more, 'more rank')}" if more else "")

    @property
    def accounted(self) -> Summary | None:
        """The first rank that has accounts; None if none has."""
        return next((each for each in self.reports if each.accounts), None)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The accounts of the first rank that has some, a device each."""
        return self.accounted.accounts if self.accounted else ()

    @cached_property
    def job(self) -> Job | None:
        """How the ranks of the job compare; None of fewer than two."""
        if self.rank_count < 2:
            return None
        from ..summary import job_of  # loads tidy.jobs

        return job_of(self.reports)

    @cached_property
    def places(self) -> list[PlaceOnRanks]:
        """The findings, what matters most first."""
        return _places(self.reports, accepted=False)

    @cached_property
    def accepted(self) -> list[PlaceOnRanks]:
        """The findings that comments in the sources, or the baseline, accept."""
        return _places(self.reports, accepted=True)

    def count(self, severity: Severity) -> int:
        return sum(place.finding.severity == severity for place in self.places)

    @cached_property
    def not_checked(self) -> list[Gap]:
        """Rules that could not check some rank."""
        ranks: dict[tuple[NotChecked, str], list[int]] = {}
        for report in self.reports:
            for code, why in report.not_checked.items():
                ranks.setdefault((why, code), []).append(_rank(report))
        codes: dict[tuple[NotChecked, tuple[int, ...]], list[str]] = {}
        for (why, code), where in ranks.items():
            codes.setdefault((why, tuple(where)), []).append(code)
        return [Gap(why, tuple(same), where) for (why, where), same in codes.items()]

    @property
    def not_applicable(self) -> dict[NotApplicable, list[str]]:
        """Codes of the rules that apply to no rank, by the first rank's reason."""
        codes: dict[NotApplicable, list[str]] = {}
        for code, moot in self.reports[0].not_applicable.items():
            if all(code in report.not_applicable for report in self.reports):
                codes.setdefault(moot, []).append(code)
        return codes

    @property
    def crashed(self) -> dict[str, Crashed]:
        """Rules that crashed on some rank, by code."""
        return {code: crash for report in self.reports for code, crash in report.crashed.items()}

    @property
    def too_far_off(self) -> Fidelity | None:
        """The errors of the replay that is furthest off, if too far to say anything; else None."""
        replays = [report.replay.fidelity for report in self.reports]
        off = [each for each in replays if each and each.abstains]
        return max(off, key=lambda each: (each.median_error, each.p90_error), default=None)


def make_sections(reports: Iterable[CheckedTrace | Summary]) -> list[Section]:
    """Return one section a job, in order of the traces given."""
    summaries = list(map(summary_of, reports))
    jobs = jobs_of([each.run for each in summaries])
    sections = list[Section]()
    for job in jobs:
        made = Section(sorted((summaries[number] for number in job), key=_rank))
        sections.append(replace(made, note=_again_text(made, sections)))
    return sections


def _again_text(section: Section, before: Iterable[Section]) -> str:
    """Say of some ranks that a job before has, too, that they are not compared with its others."""
    size, own = section.runs[0].world_size or 1, {_rank(each) for each in section.reports}
    for each in before:
        if size > 1 and size == each.runs[0].world_size and len(own) < len(each.reports):
            ranks = [_rank(report) for report in each.reports]
            if own <= set(ranks):
                if len(own) == 1:
                    return f"{ranks_text(own, ranks)} was given more than once: not compared here"
                some = f"{ranks_text(own, ranks)} were given more than once"
                return f"{some}: not compared here with the job above"
    return ""


def _rank(report: Summary) -> int:
    return report.run.rank or 0


def _places(job: Sequence[Summary], *, accepted: bool) -> list[PlaceOnRanks]:
    own = [
        [p for p in _places_of(each, number) if (p.finding.acceptance is not None) == accepted]
        for number, each in enumerate(job)
    ]
    # One finding may be a warning on some ranks and an info on others, where its cost is near the
    # limit. If a rank has both, these are two.
    apart = {key for places in own for key, n in Counter(map(_key, places)).items() if n > 1}
    shared: dict[Hashable, list[PlaceOnRanks]] = {}
    for places in own:
        seen = Counter[Hashable]()
        for place in sorted(places, key=lambda place: place.finding.message):
            key: Hashable = _key(place)
            if key in apart:
                key = key, place.finding.severity
            seen[key] += 1
            shared.setdefault((key, seen[key]), []).append(place)
    return sorted(
        map(_on_ranks, shared.values()),
        key=lambda place: importance(place.finding, place.finding.saving, place.cost_ns),
    )


def _key(place: PlaceOnRanks) -> Hashable:
    """What ranks have in common that have the same finding: the message but for its numbers."""
    finding = place.finding
    return finding.code, finding.location, NUMBER.sub("#", finding.message)


def _on_ranks(same: Sequence[PlaceOnRanks]) -> PlaceOnRanks:
    """Make one of the same finding on several ranks: that of the costliest speaks for all."""
    costs = sorted(place.cost_ns for place in same)
    middle = (costs[(len(costs) - 1) // 2] + costs[len(costs) // 2]) // 2
    return replace(
        max(same, key=lambda place: (place.finding.severity, place.cost_ns)),
        count=sum(place.count for place in same),
        ranks=tuple(rank for place in same for rank in place.ranks),
        spread_ns=(costs[0], middle, costs[-1]),
        alike=tuple(each for place in same for each in place.alike),
    )


def _places_of(report: Summary, number: int) -> list[PlaceOnRanks]:
    """The findings of one rank; those with the same message at one location are added up.

    Findings outside of the window are left out where the window has the same at that location.
    """
    groups: dict[Hashable, list[FindingSummary]] = {}
    inside = {(f.code, f.location) for f in report.findings if f.in_window}
    for finding in report.findings:
        if (finding.code, finding.location) in inside and not finding.in_window:
            continue
        key = (finding.code, finding.severity, finding.location, finding.message)
        groups.setdefault(key, []).append(finding)
    places = []
    for group in groups.values():
        cost_ns = sum(finding.cost_ns for finding in group)
        shares = [f.cost_share for f in group if f.cost_share is not None]
        places.append(
            PlaceOnRanks(
                max(group, key=lambda finding: finding.cost_ns),
                sum(finding.count for finding in group),
                cost_ns,
                min(sum(shares), 1.0) if shares else None,
                (_rank(report),),
                _rank(report),
                (cost_ns, cost_ns, cost_ns),
                tuple((number, finding) for finding in group),
            )
        )
    return places
