"""Reports of one job put together, since the ranks of a distributed run share most findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from ..account import Account, jobs_of
from ..check.checked_trace import CheckedTrace
from ..check.summary import RunSummary
from ..check.weigh import importance
from ..finding import Crashed, Judged, NotApplicable, NotChecked, Severity

# An info of less than this part of the window is named in one line with others of its kind.
SMALL_SHARE = 0.0005


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
    """

    finding: Judged
    count: int
    cost_ns: int
    cost_share: float | None
    ranks: tuple[int, ...]
    rank: int

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


@dataclass(frozen=True, slots=True)
class AfterAll:
    """A step of one rank as recorded, and with everything fixed, at best and at worst.

    Attributes:
        error: of the replay of the recorded steps, as a part of them.
    """

    rank: int
    step_ns: int
    after_ns: tuple[int, int]
    error: float


@dataclass(frozen=True, slots=True)
class Section:
    """The contents of a report on one trace, or on the ranks of one job together.

    Attributes:
        runs: the summary of each trace, by rank.
        places: the findings, what matters most first.
        accepted: those that comments in the sources, or the baseline, accept.
        not_checked: rules that could not check some rank.
        not_applicable: codes of the rules that apply to no rank, by the first rank's reason.
        crashed: rules that crashed on some rank, by code.
        rank_count: the number of ranks; 0 where the job was not distributed.
        accounts: of the first rank, a device each.
        after_all: a step with everything fixed, of the rank whose step is longest then;
            None where nothing was replayed.
        error: of the replay that was too far off for anything to be said; None where none was.
    """

    runs: tuple[RunSummary, ...]
    places: tuple[PlaceOnRanks, ...]
    accepted: tuple[PlaceOnRanks, ...]
    not_checked: tuple[Gap, ...]
    not_applicable: dict[NotApplicable, list[str]]
    crashed: dict[str, Crashed]
    rank_count: int
    accounts: tuple[Account, ...]
    after_all: AfterAll | None
    error: float | None

    def count(self, severity: Severity) -> int:
        return sum(place.finding.severity == severity for place in self.places)


def make_sections(reports: Sequence[CheckedTrace]) -> list[Section]:
    """One section a job, in order of the traces given."""
    jobs = jobs_of([report.trace.info for report in reports])
    return [_section(sorted((reports[number] for number in job), key=_rank)) for job in jobs]


def _rank(report: CheckedTrace) -> int:
    return report.trace.info.rank or 0


def _section(job: Sequence[CheckedTrace]) -> Section:
    runs = tuple(report.summary for report in job)
    not_applicable: dict[NotApplicable, list[str]] = {}
    for code, moot in job[0].not_applicable.items():
        if all(code in report.not_applicable for report in job):
            not_applicable.setdefault(moot, []).append(code)
    crashed = {code: crash for report in job for code, crash in report.crashed.items()}
    world = len(job) if (job[0].trace.info.world_size or 1) > 1 else 0
    replays = [report.weighed.fidelity for report in job]
    errors = [replay.median_error for replay in replays if replay and replay.abstains]
    return Section(
        runs,
        _places(job),
        _places(job, accepted=True),
        _gaps(job),
        not_applicable,
        crashed,
        world,
        job[0].accounts,
        max(filter(None, map(_after_all, job)), key=lambda each: each.after_ns[1], default=None),
        max(errors, default=None),
    )


def _after_all(report: CheckedTrace) -> AfterAll | None:
    weighed = report.weighed
    if weighed.step_ns_after is None or weighed.fidelity is None:
        return None
    error = weighed.fidelity.median_error
    return AfterAll(_rank(report), weighed.step_ns, weighed.step_ns_after, error)


def _places(job: Sequence[CheckedTrace], *, accepted: bool = False) -> tuple[PlaceOnRanks, ...]:
    shared: dict[Hashable, list[PlaceOnRanks]] = {}
    for report in job:
        seen = Counter[Hashable]()
        own = (p for p in _places_of(report) if (p.finding.acceptance is not None) == accepted)
        for place in sorted(own, key=lambda place: place.finding.message):
            finding = place.finding
            # Findings that ranks have in common are said of one location, with numbers of each.
            said = re.sub(r"\d+", "#", finding.message)
            key = (finding.code, finding.severity, finding.location, said)
            seen[key] += 1
            shared.setdefault((key, seen[key]), []).append(place)
    places = [
        replace(
            max(same, key=lambda place: place.cost_ns),
            count=sum(place.count for place in same),
            ranks=tuple(rank for place in same for rank in place.ranks),
        )
        for same in shared.values()
    ]
    return tuple(sorted(places, key=lambda place: importance(place.finding, place.cost_ns)))


def _places_of(report: CheckedTrace) -> list[PlaceOnRanks]:
    """The findings of one rank; those with the same message at one location are added up.

    Findings outside of the window are left out where the window has the same at that location.
    """
    groups: dict[Hashable, list[Judged]] = {}
    inside = {(f.code, f.location) for f in report.findings if f.in_window}
    for finding in report.findings:
        if (finding.code, finding.location) in inside and not finding.in_window:
            continue
        key = (finding.code, finding.severity, finding.location, finding.message)
        groups.setdefault(key, []).append(finding)
    places = []
    for group in groups.values():
        shares = [f.cost_share for f in group if f.cost_share is not None]
        places.append(
            PlaceOnRanks(
                max(group, key=lambda finding: finding.cost_ns),
                sum(finding.count for finding in group),
                sum(finding.cost_ns for finding in group),
                min(sum(shares), 1.0) if shares else None,
                (_rank(report),),
                _rank(report),
            )
        )
    return places


def _gaps(job: Sequence[CheckedTrace]) -> tuple[Gap, ...]:
    ranks: dict[tuple[NotChecked, str], list[int]] = {}
    for report in job:
        for code, why in report.not_checked.items():
            ranks.setdefault((why, code), []).append(_rank(report))
    codes: dict[tuple[NotChecked, tuple[int, ...]], list[str]] = {}
    for (why, code), where in ranks.items():
        codes.setdefault((why, tuple(where)), []).append(code)
    return tuple(Gap(why, tuple(same), where) for (why, where), same in codes.items())
