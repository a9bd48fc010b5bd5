"""Reports of one job put together: the ranks of a distributed run have most findings in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ..finding import Crashed, Finding, NotApplicable, NotChecked, Severity
from .model import Report
from .summary import RunSummary, summarize


@dataclass(frozen=True, slots=True)
class Place:
    """One finding as it is said, once for all ranks and for all of a trace that say the same.

    Attributes:
        finding: the costliest.
        count: matches, of all ranks.
        cost_ns: of the rank it costs most, there of all findings together.
        cost_share: the same as a part of the steps; None where no step is touched.
    """

    finding: Finding
    count: int
    cost_ns: int
    cost_share: float | None
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Rules that for the same reason could not look at the same ranks."""

    why: NotChecked
    codes: tuple[str, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What is said about one trace, or about the ranks of one job together.

    Attributes:
        runs: summary of each trace, by rank.
        places: findings, what matters most first.
        not_applicable: rules that apply to no rank, by the reason of the first.
        rank_count: number of ranks, 0 where the trace is of no distributed job.
    """

    runs: tuple[RunSummary, ...]
    places: tuple[Place, ...]
    not_checked: tuple[Gap, ...]
    not_applicable: dict[NotApplicable, list[str]]
    crashed: dict[str, Crashed]
    rank_count: int

    def count(self, severity: Severity) -> int:
        return sum(place.finding.severity == severity for place in self.places)


def make_sections(reports: Sequence[Report]) -> list[Section]:
    """One section a job, in order of the traces given."""
    jobs: list[list[Report]] = []
    for report in reports:
        job = next((job for job in jobs if _is_rank_of(report, job)), None)
        if job is None:
            jobs.append([report])
        else:
            job.append(report)
    return [_section(sorted(job, key=_rank)) for job in jobs]


def _rank(report: Report) -> int:
    return report.trace.info.rank or 0


def _is_rank_of(report: Report, job: Sequence[Report]) -> bool:
    """Whether a trace is a further rank of a job: as large a world, and a rank not yet seen."""
    info = report.trace.info
    if info.rank is None or (info.world_size or 1) < 2:
        return False
    others = [other.trace.info for other in job]
    return others[0].world_size == info.world_size and info.rank not in [o.rank for o in others]


def _section(job: Sequence[Report]) -> Section:
    runs = tuple(summarize(report.trace) for report in job)
    not_applicable: dict[NotApplicable, list[str]] = {}
    for code, moot in job[0].not_applicable.items():
        if all(code in report.not_applicable for report in job):
            not_applicable.setdefault(moot, []).append(code)
    crashed = {code: crash for report in job for code, crash in report.crashed.items()}
    world = len(job) if (job[0].trace.info.world_size or 1) > 1 else 0
    return Section(runs, _places(job), _gaps(job), not_applicable, crashed, world)


def _places(job: Sequence[Report]) -> tuple[Place, ...]:
    shared: dict[Hashable, list[Place]] = {}
    for report in job:
        seen = Counter[Hashable]()
        for place in sorted(_places_of(report), key=lambda place: place.finding.message):
            finding = place.finding
            # What ranks have in common is said of one place, with numbers of each.
            said = re.sub(r"\d+", "#", finding.message)
            key = (finding.code, finding.severity, finding.location, said)
            seen[key] += 1
            shared.setdefault((key, seen[key]), []).append(place)
    return tuple(sorted((_of_all_ranks(places) for places in shared.values()), key=_importance))


def _places_of(report: Report) -> list[Place]:
    """What one rank says; what it says more than once of a place is added up."""
    groups: dict[Hashable, list[Finding]] = {}
    for finding in report.findings:
        key = (finding.code, finding.severity, finding.location, finding.message)
        groups.setdefault(key, []).append(finding)
    places = []
    for group in groups.values():
        shares = [f.cost_share for f in group if f.cost_share is not None]
        places.append(
            Place(
                max(group, key=lambda finding: finding.cost_ns),
                sum(finding.count for finding in group),
                sum(finding.cost_ns for finding in group),
                min(sum(shares), 1.0) if shares else None,
                (_rank(report),),
            )
        )
    return places


def _of_all_ranks(places: Sequence[Place]) -> Place:
    costliest = max(places, key=lambda place: place.cost_ns)
    return Place(
        costliest.finding,
        sum(place.count for place in places),
        costliest.cost_ns,
        costliest.cost_share,
        tuple(rank for place in places for rank in place.ranks),
    )


def _importance(place: Place) -> tuple[float | str, ...]:
    finding = place.finding
    return (
        -finding.severity,
        -(place.cost_share or 0.0),
        -place.cost_ns,
        finding.code,
        str(finding.location or ""),
        finding.message,
    )


def _gaps(job: Sequence[Report]) -> tuple[Gap, ...]:
    ranks: dict[tuple[NotChecked, str], list[int]] = {}
    for report in job:
        for code, why in report.not_checked.items():
            ranks.setdefault((why, code), []).append(_rank(report))
    codes: dict[tuple[NotChecked, tuple[int, ...]], list[str]] = {}
    for (why, code), where in ranks.items():
        codes.setdefault((why, tuple(where)), []).append(code)
    return tuple(Gap(why, tuple(same), where) for (why, where), same in codes.items())
