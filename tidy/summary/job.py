"""`Job`: what the ranks of one job are when they are compared, from their summaries alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..account.which_job import name_of, names_without_rank
from ..jobs import (
    Clocks,
    ComparedRanks,
    GroupTime,
    HeatMap,
    JobReplay,
    Lateness,
    Matched,
    MemberWaits,
    SlowLink,
    UnevenWork,
    bubbles_ns,
    compare_ranks,
    ranks_text,
    slow_links,
    step_flops_of,
    step_roles_of,
    times_by_group,
    uneven_work,
)
from ..jobs.heat_maps import heat_map
from ..jobs.lateness import FEWEST_STEPS, LEAST_SHARE, MOST_JITTER
from ..jobs.table import MOST_RANKS, Bools, Floats
from ..trace import count_text
from .late_ranks import LateRanks, late_ranks
from .summary import Summary

MOST_COLUMNS = 60
_LEAST_SPREAD = 0.05  # of what ranks are given in a step, for it to be called uneven
# Clocks of the nodes of one job differ by less, and runs of a script follow on one another by more.
_CLOCKS_AGREE_NS = 100_000_000
_MOST_UNMATCHED = 0.1  # of all that was recorded, for something to be said of who is late


@dataclass(frozen=True, eq=False)
class Job:
    """The ranks of one job compared by the collectives that they have in common.

    Attributes:
        summaries: of the ranks compared, ascending by rank.
        given: all ranks of which there is a summary, ascending.
        missing: the ranks of the job of which there is none, ascending.
        replay: the job to be run again; None if nothing is said of who is late.
        by_number: how many collectives were matched by process group and sequence number.
        late: ranks that are late, if that is sure.
        uneven: how late ranks are goes with how much they are given to do in a step, None if not.
        unknown: what this does not tell, a sentence each.
    """

    summaries: Sequence[Summary]
    given: tuple[int, ...]
    missing: tuple[int, ...]
    matched: Matched
    clocks: Clocks
    waits: MemberWaits
    lateness: Lateness
    replay: JobReplay | None
    by_number: int
    late: tuple[LateRanks, ...]
    uneven: UnevenWork | None
    unknown: tuple[str, ...]

    @property
    def ranks(self) -> list[int]:
        """The ranks that are compared, ascending."""
        ranks: list[int] = self.matched.ranks.tolist()
        return ranks

    @cached_property
    def step_count(self) -> int:
        """The number of steps in which there are collectives."""
        return len(self.matched.steps)

    @property
    def ordinary_ns(self) -> float:
        """How late ranks are in single steps by jitter alone."""
        return MOST_JITTER * self.lateness.jitter_ns

    @cached_property
    def groups(self) -> list[GroupTime]:
        """What collectives take by group and operation, the longest in all first."""
        return times_by_group(self.matched, self.waits)

    @cached_property
    def slow_links(self) -> list[SlowLink]:
        """The groups and pairs whose transfers take longer than others of their kind."""
        return slow_links(self.matched, self.waits, self.hosts)

    @cached_property
    def bubble_ns(self) -> dict[int, int]:
        """By rank what it waits in a step for other stages of a pipeline, if it is in one."""
        steps = self.matched.steps
        waited = bubbles_ns(self.matched, self.waits, steps).sum(axis=1)
        return {
            rank: round(float(ns) / len(steps))
            for rank, ns in zip(self.ranks, waited.tolist(), strict=True)
            if ns > 0
        }

    def come_last(self, rank: int) -> tuple[int, int]:
        """Return to how many collectives a rank comes last, and of how many that is known."""
        place = self.ranks.index(rank)
        known = self.waits.is_known
        last = np.count_nonzero(self.waits.last[known] == place)
        of = np.count_nonzero(self.matched.place[known[self.matched.collective]] == place)
        return int(last), int(of)

    def late_map(self, most_columns: int = MOST_COLUMNS, *, hosts: bool = True) -> HeatMap | None:
        """Return how late each rank is in each step; None if that is not known.

        Args:
            hosts: whether rows say on which node they are; rows of a node stand together.
        """
        if self.replay is None or not self.lateness.late_ns.size:
            return None
        return heat_map(
            self.ranks,
            self.lateness.steps,
            self.lateness.late_ns,
            ordinary_ns=self.ordinary_ns,
            hosts=self.hosts if hosts else None,
            most_columns=most_columns,
        )

    @cached_property
    def hosts(self) -> dict[int, str]:
        """The node of each rank; "" if it is not recorded."""
        return {each.run.rank or 0: each.host for each in self.summaries}


def job_of(summaries: Sequence[Summary]) -> Job | None:
    """Compare the ranks of one job; None if fewer than two were given.

    Args:
        summaries: one a rank, in any order.
    """
    ordered = sorted(summaries, key=lambda each: each.run.rank or 0)
    ranks = [each.run.rank for each in ordered]
    if len(ordered) < 2 or None in ranks or len(set(ranks)) < len(ranks):
        return None
    given = tuple(rank for rank in ranks if rank is not None)
    world_size = max((each.run.world_size or 0 for each in ordered), default=0)
    is_sane = world_size <= MOST_RANKS and all(0 <= each < MOST_RANKS for each in given)
    missing = _missing(given, world_size) if is_sane else ()
    unknown = [_missing_text(given, missing, world_size)] if missing else []
    compared = [each for each in ordered if is_sane and len(each.collectives)]
    why_not = "their numbers are those of no job" if not is_sane else _why_not_compared(ordered)
    if why_not:
        compared = []
        unknown.append(f"ranks are not compared: {why_not}")
    elif 0 < len(compared) < len(ordered):
        silent = [each.run.rank or 0 for each in ordered if not len(each.collectives)]
        said = f"no collectives are recorded of {ranks_text(silent, given)}"
        unknown.append(f"{said}: {_unknown(len(silent))}")
    tables = [each.collectives for each in compared]
    told = compare_ranks(tables)
    matched, lateness = told.matched, told.lateness
    by_number = _by_number(compared, matched)
    if doubt := _why_not_one_run(ordered, told, by_number):
        unknown.append(f"whether these ranks ran together is not known: {doubt}")
    replay = None
    if len(matched.group):
        untold = _why_late_is_not_told(matched, lateness)
        replay = None if untold else told.replay()
        if untold:
            unknown.append(f"which ranks are late is not said: {untold}")
    elif not why_not:
        unknown.append("ranks are not compared: no collectives of two of them belong together")
    late: tuple[LateRanks, ...] = ()
    uneven = None
    if replay is not None:
        are_all = not missing and len(compared) == len(ordered)
        late = late_ranks(compared, replay, lateness, are_all=are_all)
        flops = step_flops_of(tables, matched, lateness.steps)
        uneven = _uneven(matched, lateness, flops)
        if untold := _why_uneven_is_not_told(matched.ranks.tolist(), flops):
            unknown.append(f"whether ranks are given more to do by turns is not known: {untold}")
    return Job(
        compared, given, missing, matched, told.clocks, told.waits, lateness, replay,
        int(np.count_nonzero(by_number)), late, uneven, tuple(unknown),
    )  # fmt: skip


def _missing(given: Sequence[int], world_size: int) -> tuple[int, ...]:
    """Return the ranks that were not given; of very many the first of them."""
    some = set(given)
    most = len(some) + (1 << 16)
    return tuple(rank for rank in range(min(world_size, most)) if rank not in some)


def _missing_text(given: Sequence[int], missing: Sequence[int], world_size: int) -> str:
    of = f"of {world_size:,}"
    if len(given) + len(missing) < world_size:  # not all are listed
        return f"{world_size - len(given):,} {of} ranks are missing: {_unknown(2)}"
    if len(missing) > len(given):
        some, verb = ranks_text(given, [*given, *missing]), "was" if len(given) == 1 else "were"
        return f"only {some} {of} {verb} given: {_unknown(len(missing))}"
    named, verb = ranks_text(missing, range(world_size)), "is" if len(missing) == 1 else "are"
    return f"{named} {of} {verb} missing: {_unknown(len(missing))}"


def _unknown(ranks: int) -> str:
    return f"whether others wait for {'it' if ranks == 1 else 'them'} is not known"


def _why_not_one_run(summaries: Sequence[Summary], told: ComparedRanks, by_number: Bools) -> str:
    """Say which names of files speak for several runs; "" if none do.

    Names that differ by more than the rank may do so by the node, which then has them alone, or by
    a number of the rank's in a group; then collectives of ranks with different names end together.

    Args:
        by_number: of each collective whether its process group and number are recorded.
    """
    files = [(name_of(each.run.path), each.run.rank or 0) for each in summaries]
    names = names_without_rank(files)
    hosts = dict[str, list[str]]()
    for name, each in zip(names, summaries, strict=True):
        hosts.setdefault(name, []).append(each.host)
    if len(hosts) < 2 or any(len(each) < 2 for each in hosts.values()):
        return ""
    known = {host for each in hosts.values() for host in each if host}
    if len(known) == sum(len(set(each)) for each in hosts.values()):
        return ""
    name_of_rank = {rank: name for (_, rank), name in zip(files, names, strict=True)}
    if _is_one_run(name_of_rank, told, by_number):
        return ""
    first, second, *others = sorted(hosts)
    more = f" and {len(others):,} more" if others else ""
    return f"files are called {first} and {second}{more}"


def _is_one_run(names: Mapping[int, str], told: ComparedRanks, by_number: Bools) -> bool:
    """Tell whether collectives among ranks of different names ended at once, by clocks that agree.

    In another run of the same script collectives have the same numbers, but at another time.

    Args:
        names: by rank; each has to have part in such collectives.
    """
    matched, clocks = told.matched, told.clocks
    proves = by_number & matched.all_wait & clocks.together(matched)
    apart_ns = np.ptp(clocks.offset_ns.astype(float)) if len(clocks.offset_ns) else 0.0
    if not proves.any() or not np.isfinite(clocks.uncertainty_ns).all():
        return False
    if apart_ns > _CLOCKS_AGREE_NS:
        return False
    number_of = {name: number for number, name in enumerate(sorted(set(names.values())))}
    name = np.array([number_of[names[rank]] for rank in matched.ranks.tolist()])[matched.place]
    first = matched.first[:-1]
    proves &= np.minimum.reduceat(name, first) < np.maximum.reduceat(name, first)
    return len(np.unique(name[proves[matched.collective]])) == len(number_of)


def _why_not_compared(summaries: Sequence[Summary]) -> str:
    """Say why times of these recordings do not tell who waits for whom; "" if they do."""
    reasons = {
        "times are modelled": [each.run.device_is_modelled for each in summaries],
        "steps have the times of other steps": [each.run.times != "recorded" for each in summaries],
        "work of devices may be missing": [each.run.busy_is_lower_bound for each in summaries],
    }
    given = [each.run.rank or 0 for each in summaries]
    for reason, holds in reasons.items():
        if any(holds):
            ranks = [rank for rank, is_so in zip(given, holds, strict=True) if is_so]
            return reason if len(ranks) == len(given) else f"{reason} on {ranks_text(ranks, given)}"
    return ""


def _why_late_is_not_told(matched: Matched, lateness: Lateness) -> str:
    """Say why nothing is said of who is late; "" if it can be."""
    members, left = len(matched.place), sum(matched.unmatched.values())
    if left > _MOST_UNMATCHED * (left + members):
        share = left / (left + members)
        why = max(sorted(matched.unmatched), key=lambda each: matched.unmatched[each])
        return f"{share:.0%} of what single ranks recorded is not matched, mostly {why}"
    unknown = int(np.count_nonzero(matched.blocked_ns < 0))
    if unknown:
        what = "" if unknown == members else f" {unknown:,} of {members:,}"
        return f"what else ranks compute beside{what} collectives is not recorded"
    if len(lateness.steps) < FEWEST_STEPS:
        known, told = len(matched.steps), len(lateness.steps)
        if known > FEWEST_STEPS:
            few = f"{told or 'none'} of {known:,} steps with collectives"
            follow = "follow" if told > 1 else "follows"
            return f"{few} {follow} right on a recorded one, too few to tell"
        are = "is" if known == 1 else "are"
        return f"{count_text(known, 'step')} with collectives {are} too few to tell"
    return ""


def _uneven(matched: Matched, lateness: Lateness, flops: Floats) -> UnevenWork | None:
    role = step_roles_of(matched, lateness.steps)
    found = uneven_work(lateness.late_ns, flops, role)
    if found is None or found.spread < _LEAST_SPREAD:
        return None
    if found.more_ns < LEAST_SHARE * lateness.step_ns:
        return None
    return replace(found, more_ns=min(found.more_ns, lateness.step_ns))


def _why_uneven_is_not_told(ranks: Sequence[int], flops: Floats) -> str:
    """Say on which ranks the work of all steps is not known; "" if on none, or on all."""
    lacks = np.flatnonzero(np.isnan(flops).all(axis=1)).tolist()
    if not lacks or len(lacks) == len(ranks):
        return ""
    some = ranks_text([ranks[place] for place in lacks], ranks)
    return f"the operations of products are not known on {some}"


def _by_number(summaries: Sequence[Summary], matched: Matched) -> Bools:
    """Return which collectives were matched by process group and sequence number; shape (c,)."""
    if not len(matched.group):
        return np.zeros(0, bool)
    tables = [each.collectives for each in summaries]
    first = matched.first[:-1]
    begins = np.cumsum([0, *map(len, tables)])[matched.place[first]]
    numbered = np.concatenate([(each.seq >= 0) & (each.group >= 0) for each in tables])
    is_pair = np.concatenate([each.source >= 0 for each in tables])
    by_number: Bools = (numbered & ~is_pair)[begins + matched.row[first]]
    return by_number
