"""All that is told of ranks by their collectives, in the one order in which it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .chain import Chain, chain_of
from .clocks import Clocks, align
from .late_costs import LateCost, late_cost
from .lateness import Lateness, Verdict, lateness_of
from .matching import Matched, match
from .replay import JobReplay, replay_of
from .table import Bools, Collectives
from .waits import MemberWaits, waits_of


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRanks:
    """The collectives that ranks have in common, and what they tell of each rank."""

    matched: Matched
    clocks: Clocks
    waits: MemberWaits
    chain: Chain
    lateness: Lateness

    def are(self, verdict: Verdict) -> Bools:
        """Return of each rank whether that is its verdict; shape (r,)."""
        return np.array([each == verdict for each in self.lateness.verdicts], bool)

    def replay(self) -> JobReplay:
        """Prepare the job to be run again."""
        return replay_of(self.matched, self.chain, self.waits)


def compare_ranks(tables: Sequence[Collectives]) -> ComparedRanks:
    """Compare ranks by what they recorded of their collectives.

    Args:
        tables: one a rank.
    """
    matched = match(tables)
    with np.errstate(invalid="ignore", over="ignore"):  # of damaged files: times of no clock
        clocks = align(matched)
        waits, chain = waits_of(matched, clocks), chain_of(matched)
        return ComparedRanks(matched, clocks, waits, chain, lateness_of(matched, waits, chain))


def cost_of_late_ranks(tables: Sequence[Collectives]) -> LateCost | None:
    """Return what ranks that stay late cost a step, in ns.

    Args:
        tables: of all ranks of a job.

    Returns:
        None if no rank stays late, or if their numbers are damaged.
    """
    if len({each.rank for each in tables}) < len(tables):  # the number of one is damage
        return None
    ranks = compare_ranks(tables)
    are = ranks.are(Verdict.STAYS_LATE)
    if not are.any() or are.all():
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        of_rank = {each.rank: each for each in tables}
        by_place = [of_rank[rank] for rank in ranks.matched.ranks.tolist()]
        return late_cost(ranks.replay(), are, by_place).over(ranks.lateness.steps_known(are))
