"""What the ranks of a job are beside each other, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.text import Text

from ..jobs import GroupTime, HeatMap, SlowLink, Verdict, parallelism_of, ranks_text
from ..summary import Job, LateRanks
from ..trace import count_text, printable, range_text, time_text
from .console import ReportConsole
from .sections import Section
from .units import rate_text, share_text

# Of fewer a table and a map say no more than the findings, in which each names its rank.
FEWEST_OF_A_JOB = 5  # ranks
_MOST_GROUPS, _MOST_LINKS, _MOST_STEPS = 4, 3, 6  # that are named
_NARROWEST_MAP = 8  # columns
_MOST_BARE, _FAINTEST = 8, 0.125  # ranks; of the darkest shade
_WORTH_SAYING = 0.01  # of a step


def print_job(console: ReportConsole, section: Section) -> None:
    """Print how the ranks of a job compare; of fewer than five only which of them are late."""
    said = None if section.job is None else job_texts(section.job)
    if said is None or section.job is None:
        return
    console.show(Text(said.title, "bold"))
    for line in (*said.at_fault, *said.times):
        console.wrapped(line, indent=2)
    if said.is_large:
        _print_map(console, section.job)
    for line in said.unknown:
        console.wrapped(line, "yellow", indent=2)
    if said.matched:
        console.wrapped(said.matched, "dim", indent=2)
    console.show()


@dataclass(frozen=True, slots=True)
class JobTexts:
    """How the ranks of a job compare, in sentences.

    Attributes:
        at_fault: which ranks are late, whether work is uneven, and which links are slow.
        times: what collectives take, by group, and what stages of a pipeline wait.
        unknown: what is not told.
        matched: how collectives were matched; "" of few ranks.
        is_large: whether there is a map, too.
    """

    title: str
    at_fault: tuple[str, ...]
    times: tuple[str, ...]
    unknown: tuple[str, ...]
    matched: str
    is_large: bool


def job_texts(job: Job) -> JobTexts | None:
    """Say how ranks compare; None of fewer than five of which none is late."""
    late = tuple(late_texts(job))
    is_large = len(job.given) >= FEWEST_OF_A_JOB
    if not late and not is_large:
        return None
    return JobTexts(
        _title(job),
        (*late, *(_link_texts(job) if is_large else ())),
        (*_group_texts(job), *_bubble_texts(job)) if is_large else (),
        tuple(unknown_texts(job)),
        matched_text(job) if is_large and len(job.matched.group) else "",
        is_large,
    )


def _title(job: Job) -> str:
    step_ns = job.lateness.step_ns
    step = f": a step of {time_text(step_ns)} in the median" if step_ns > 0 else ""
    return f"How {count_text(len(job.given), 'rank')} compare{step}"


def late_texts(job: Job) -> Iterator[str]:
    """Say who is late, by how much, how often, why, and what that costs; and uneven work."""
    for late in job.late:
        yield _late_text(job, late)
    yield from _uneven_texts(job)


def _late_text(job: Job, late: LateRanks) -> str:
    are_many = len(late.ranks) > 1
    who = ranks_text(late.ranks, job.ranks)
    if late.verdict == Verdict.STAYS_LATE:
        said = f"{who} {'stay' if are_many else 'stays'} late"
        said += f", by {_range(*late.late_ns)} of a step" if late.late_ns else ""
    else:
        said = f"{who} {'are' if are_many else 'is'} late in {_steps_text(late.steps)}"
        said += f", by {_range(*late.late_ns)}" if late.late_ns else ""
    times, of = job.come_last(late.latest)
    last = "the latest, " if are_many else ""
    which = f"{last}rank {late.latest}, comes" if are_many else "it comes"
    said += f"; {which} last to {times:,} of {count_text(of, 'collective')}"
    if late.reason:
        said += f": {late.reason}"
    return f"{said[0].upper()}{said[1:]}. {_saved_text(job, late)}"


def _saved_text(job: Job, late: LateRanks) -> str:
    if late.saved_ns is None and late.late_ns is None:
        return f"By how much, and what that costs the job, is not known: {late.why_not_saved}"
    if late.saved_ns is None:
        return f"What that costs the job is not known: {late.why_not_saved}"
    pace = "With these" if len(late.ranks) > 1 else "With it"
    step = "a step" if late.verdict == Verdict.STAYS_LATE else "the recording"
    said = f"{pace} at the pace of the others {step} takes {_range(*late.saved_ns)} less"
    if late.verdict == Verdict.STAYS_LATE and job.lateness.step_ns > 0:
        share = min(late.saved_ns[1] / job.lateness.step_ns, 1.0)
        said += f", {share_text(share)} at most"
    return said


def _uneven_texts(job: Job) -> Iterator[str]:
    uneven = job.uneven
    if uneven is not None:
        by = f"{time_text(uneven.more_ns)} of a step"
        yield (
            "Work is uneven: in the median step the rank with the most has "
            f"{uneven.spread:.0%} more operations in products than ranks have in the mean, which "
            f"takes {by}; the rank that is given more in a step is late in it (a correlation of "
            f"{uneven.correlation:.2f}). Give all ranks about as much work in each step"
        )


def _range(low_ns: float, high_ns: float) -> str:
    """`0.98 to 1.2 ms`."""
    return f"{range_text(low_ns, high_ns, high_ns)} {time_text(high_ns).rpartition(' ')[2]}"


def _steps_text(steps: tuple[int, ...]) -> str:
    named = ", ".join(map(str, steps[:_MOST_STEPS]))
    more = f" and {len(steps) - _MOST_STEPS:,} more" if len(steps) > _MOST_STEPS else ""
    return f"{'step' if len(steps) == 1 else 'steps'} {named}{more}"


def _link_texts(job: Job) -> Iterator[str]:
    links = job.slow_links
    for link in links[:_MOST_LINKS]:
        yield _link_text(job, link)
    if links[_MOST_LINKS:]:
        yield f"and {count_text(len(links) - _MOST_LINKS, 'more slow link')} (--format json)"


def _link_text(job: Job, link: SlowLink) -> str:
    operation = job.matched.operations[link.operation]
    others = "1 other" if link.others == 1 else f"{link.others:,} others"
    return printable(
        f"slow link: {operation} of {ranks_text(link.ranks, job.ranks)} takes "
        f"{time_text(link.transfer_ns)} once all are there, and {time_text(link.usual_ns)} in the "
        f"median of {others} as large ({rate_text(link.gbytes_per_s * 1e9, 'B')} against "
        f"{rate_text(link.usual_gbytes_per_s * 1e9, 'B')})"
    )


def _group_texts(job: Job) -> Iterator[str]:
    """Say what a member takes in collectives; groups of one description are said together."""
    alike = dict[tuple[str, int, int], list[GroupTime]]()
    for each in job.groups:
        alike.setdefault((_group_name(job, each), each.operation, each.members), []).append(each)
    said = list(alike.values())
    for groups in said[:_MOST_GROUPS]:
        yield _group_text(job, groups)
    if said[_MOST_GROUPS:]:
        yield f"and {count_text(len(said) - _MOST_GROUPS, 'more kind')} of them (--format json)"


def _group_name(job: Job, time: GroupTime) -> str:
    """Return `default_pg (data parallel)`, or "" if the group is not recorded."""
    if time.group < 0:
        return ""
    group = job.matched.groups[time.group]
    kind = parallelism_of(group)
    return f"{group.description or group.name}{f' ({kind} parallel)' if kind else ''}"


def _group_text(job: Job, groups: Sequence[GroupTime]) -> str:
    """Say what a member takes of it in a step, in the mean; of several groups least and most."""
    steps, first = max(job.step_count, 1), groups[0]
    name = _group_name(job, first)
    said = job.matched.operations[first.operation] + (f" of {name}" if name else "")
    several = f"{len(groups):,} groups of " if len(groups) > 1 else ""
    said += f", {several}{count_text(first.members, 'rank')}: "
    parts = {
        "transfer": [each.transfer_ns / steps for each in groups],
        "waiting": [each.waiting_ns / steps for each in groups],
    }
    said += ", ".join(f"{what} {_range(min(ns), max(ns))}" for what, ns in parts.items())
    said += " a step"
    exposed = [each.exposed_ns / steps for each in groups]
    if min(exposed) >= 0:
        said += f", {_range(min(exposed), max(exposed))} of both exposed"
    small, count = sum(each.small for each in groups), sum(each.collectives for each in groups)
    if 2 * small > count:
        said += f"; {small:,} of {count:,} take little more than their latency"
    return printable(said)


def _bubble_texts(job: Job) -> Iterator[str]:
    bubbles, step_ns = job.bubble_ns, job.lateness.step_ns
    if bubbles and max(bubbles.values()) >= _WORTH_SAYING * step_ns > 0:
        most = max(bubbles, key=lambda rank: bubbles[rank])
        by = _range(min(bubbles.values()), bubbles[most])
        yield f"pipeline: ranks wait for other stages for {by} of a step, rank {most} for most"


def _print_map(console: ReportConsole, job: Job) -> None:
    """Print how late each rank is in each step, if some are late."""
    made = text_map(job, console.width - 2) if job.late else None
    if made is None:
        return
    console.show()
    console.show("  how late by rank and step, the darkest most:")
    made, left = _outstanding(job, made)
    for line in made.text(ascii_only=not _shows_blocks(console)).splitlines():
        console.show(Text(printable(f"  {line}")))
    if left:
        console.show(f"  and {count_text(left, 'rank')} that are hardly late (--format json)")
    console.show()


def _outstanding(job: Job, made: HeatMap) -> tuple[HeatMap, int]:
    """Leave out rows of ordinary jitter if there are many; return how many ranks these have."""
    if len(job.ranks) <= _MOST_BARE:
        return made, 0
    named = {rank for late in job.late for rank in late.ranks}
    values = np.nan_to_num(made.values_ns).max(axis=1, initial=0.0)
    is_late = np.array([not named.isdisjoint(row) for row in made.ranks])
    is_late |= (values > job.ordinary_ns) & (values >= _FAINTEST * made.full_ns)
    rows = np.flatnonzero(is_late).tolist()
    shown = replace(
        made,
        labels=tuple(made.labels[row] for row in rows),
        ranks=tuple(made.ranks[row] for row in rows),
        hosts=tuple(made.hosts[row] for row in rows),
        values_ns=made.values_ns[rows],
    )
    return shown, sum(map(len, made.ranks)) - sum(map(len, shown.ranks))


def text_map(job: Job, width: int) -> HeatMap | None:
    """Return the map as wide as it may be; without names of nodes if these leave no room."""
    hosts = len(set(job.hosts.values())) > 1
    made = job.late_map(hosts=hosts)
    if made is not None and _room(made, width) < _NARROWEST_MAP and hosts:
        hosts = False
        made = job.late_map(hosts=hosts)
    if made is None or len(made.steps) <= _room(made, width):
        return made
    return job.late_map(max(_room(made, width), 1), hosts=hosts)


def _room(made: HeatMap, width: int) -> int:
    """Return how many columns are left beside the labels."""
    return width - 2 - max(map(len, made.labels), default=0)


def _shows_blocks(console: ReportConsole) -> bool:
    return (console.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def unknown_texts(job: Job) -> Iterator[str]:
    """Say what the comparison does not tell."""
    for each in job.unknown:
        yield f"{each[0].upper()}{each[1:]}"


def matched_text(job: Job) -> str:
    """Say how collectives were matched, and how surely clocks are set."""
    matched = job.matched
    count, by_number = len(matched.group), job.by_number
    how = "process group and number" if by_number else "order and size"
    if 0 < by_number < count:
        how += f" ({by_number:,}), else by order and size"
    said = f"{count_text(count, 'collective')} of {len(job.ranks):,} ranks matched by {how}"
    if left := sum(matched.unmatched.values()):
        why = max(sorted(matched.unmatched), key=lambda each: matched.unmatched[each])
        said += f"; {left:,} on single ranks are not, mostly {why}"
    uncertain = job.clocks.uncertainty_ns
    known = np.isfinite(uncertain)
    if not known.any():
        return f"{said}; how their clocks differ is not known"
    said += f"; their clocks are set to within {time_text(float(uncertain[known].max()))}"
    others = matched.ranks[~known].tolist()
    return said + (f", but for those of {ranks_text(others, job.ranks)}" if others else "")
