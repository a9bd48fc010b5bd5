"""Reports of one job put together: the ranks of a distributed run have most findings in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..finding import Crashed, Finding, NotApplicable, NotChecked, Severity
from .model import Report
from .summary import RunSummary, summarize


@dataclass(frozen=True, slots=True)
class Place:
    """One finding as the ranks of a job share it; `finding` is that of the rank it costs most."""

    finding: Finding
    count: int
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What is said about one trace, or about the ranks of one job together.

    Attributes:
        runs: summary of each trace, by rank.
        places: findings, what matters most first.
        rank_count: number of ranks, 0 where the trace is of no distributed job.
    """

    runs: tuple[RunSummary, ...]
    places: tuple[Place, ...]
    not_checked: dict[NotChecked, list[str]]
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
    return [_section(sorted(job, key=lambda r: r.trace.info.rank or 0)) for job in jobs]


def _is_rank_of(report: Report, job: Sequence[Report]) -> bool:
    """Whether a trace is a further rank of a job: as large a world, and a rank not yet seen."""
    info = report.trace.info
    if info.rank is None or (info.world_size or 1) < 2:
        return False
    others = [other.trace.info for other in job]
    return others[0].world_size == info.world_size and info.rank not in [o.rank for o in others]


def _section(job: Sequence[Report]) -> Section:
    runs = tuple(summarize(report.trace) for report in job)
    found: dict[object, list[tuple[int, Finding]]] = {}
    for report in job:
        for finding in report.findings:
            # What ranks have in common is found in one place, said with numbers of each.
            said = finding.message if len(job) == 1 else ""
            key = (finding.code, finding.severity, finding.location, said)
            found.setdefault(key, []).append((report.trace.info.rank or 0, finding))
    places = [
        Place(
            max((f for _, f in group), key=lambda f: f.cost_ns),
            sum(f.count for _, f in group),
            tuple(dict.fromkeys(rank for rank, _ in group)),
        )
        for group in found.values()
    ]
    places.sort(key=lambda place: (-place.finding.severity, -(place.finding.cost_share or 0.0)))
    not_checked: dict[NotChecked, list[str]] = {}
    not_applicable: dict[NotApplicable, list[str]] = {}
    for report in job[:1]:
        for code, obstacle in report.not_checked.items():
            not_checked.setdefault(obstacle, []).append(code)
        for code, moot in report.not_applicable.items():
            not_applicable.setdefault(moot, []).append(code)
    crashed = {code: crash for report in job for code, crash in report.crashed.items()}
    world = len(job) if (job[0].trace.info.world_size or 1) > 1 else 0
    return Section(runs, tuple(places), not_checked, not_applicable, crashed, world)
