"""The job run again across its ranks, to see what a late rank costs all of them.

Each rank comes to a collective when its own time is there, see chain.py; a collective begins when
its last member is there, and lasts as long as its transfer did; who needs it goes on when it is
over. Unchanged, that gives the recorded times back. A collective that a rank hid stays hidden. How
soon one that was queued behind another could have begun is not recorded: it is taken to be ready
when it was on other ranks of the role that did not queue it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .chain import Chain, excess_of
from .matching import Matched
from .stretches import medians
from .table import Bools, Floats, Ints
from .waits import MemberWaits
from .waves import Waves, waves_of

# What a replay without late ranks was off by in made jobs, as a share of the cost.
ERROR_OF_COST = 0.2


@dataclass(frozen=True, slots=True)
class JobReplay:
    """A job that can be run again.

    Attributes:
        matched, chain, waits: what was recorded.
        waves: collectives that can be computed at once; see `waves_of`.
        lag_ns: by how much each member comes later in its rank's own time since the last step than
            in that of the others of its role, at most by what the rank is late in the step; (m,).
        ready_ns: when each member is ready, as `Chain.arrives_ns`; shape (m,).
        end_ns: when each collective ends unchanged; shape (c,).
        error: by how much the unchanged run is longer than the recorded one, as a share.
        knows_hidden: whether it is known of all collectives how long ranks waited for them. If
            not, all are taken as waited for: what ranks compute beside them makes costs too high,
            and no saving should be told.
    """

    matched: Matched
    chain: Chain
    waits: MemberWaits
    waves: Waves
    lag_ns: Floats
    ready_ns: Floats
    end_ns: Floats
    error: float
    knows_hidden: bool

    def cost_ns(self, places: Bools) -> float:
        """Return by how much the recording would be shorter if some ranks came as others do.

        Args:
            places: of each rank whether its own time is set to the median of that of the other
                ranks of its role, in the steps in which it is longer; shape (r,).
        """
        if not len(self.end_ns):
            return 0.0
        needs = self.chain.needs_ns.astype(float)
        arrives = self.ready_ns.copy()
        for place in np.flatnonzero(places).tolist():
            mine = np.flatnonzero(self.matched.place == place)
            at_ns, saved_ns = self._saved(place, mine)
            arrives[mine] -= np.interp(self.chain.own_start_ns[mine], at_ns, saved_ns)
            needs[mine] -= np.interp(self.chain.own_end_ns[mine], at_ns, saved_ns)
        ends = _run(self.matched, self.chain, self.waits, self.waves, arrives, needs)
        return max(float(self.end_ns.max() - ends.max()), 0.0)

    def _saved(self, place: int, mine: Ints) -> tuple[Floats, Floats]:
        """Return own times of a rank, and how much of each is saved until then; both ascend."""
        at_ns, saved_ns, total = [0.0], [0.0], 0.0
        column = self.chain.own.column[mine]
        for number in range(len(self.chain.own.steps)):
            late = float(self.chain.own.late_ns[place, number])
            if not late > 0:  # or not known
                continue
            of_step = mine[column == number]
            order = of_step[np.argsort(self.chain.own_start_ns[of_step], kind="stable")]
            base = float(self.chain.own.base_ns[place, number])
            end = base + float(self.chain.own.own_ns[place, number])
            at_ns += [base, *self.chain.own_start_ns[order].tolist(), end]
            saved_ns += [total, *(total + self.lag_ns[order]).tolist(), total + late]
            total += late
        by_time = np.argsort(at_ns, kind="stable")
        return np.array(at_ns)[by_time], np.maximum.accumulate(np.array(saved_ns)[by_time])


def replay_of(matched: Matched, chain: Chain, waits: MemberWaits) -> JobReplay:
    """Prepare a job to be run again, and run it unchanged."""
    waves = waves_of(matched, chain)
    lag = _lags(matched, chain, excess_of(matched, chain, waits.is_known))
    ready = _ready(matched, chain, lag)
    ends = _run(matched, chain, waits, waves, ready, chain.needs_ns.astype(float))
    knows = matched.knows_waits and bool((matched.blocked_ns >= 0).all())
    if not len(ends):
        return JobReplay(matched, chain, waits, waves, lag, ready, ends, 0.0, knows)
    first = matched.first[:-1]
    recorded = waits.arrival_ns + (matched.end_ns - matched.start_ns)
    recorded = np.maximum.reduceat(recorded, first)
    start = int(waits.arrival_ns.min())
    length = max(int(recorded.max()) - start, 1)
    error = (float(ends.max()) - (int(recorded.max()) - start)) / length
    return JobReplay(matched, chain, waits, waves, lag, ready, ends, error, knows)


def _lags(matched: Matched, chain: Chain, excess: Floats) -> Floats:
    """Let what a rank is behind by only grow within a step, up to what it is late by; (m,)."""
    own = chain.own
    late = np.nan_to_num(own.late_ns)[matched.place, own.column]
    lag = np.rint(np.clip(excess, 0, np.maximum(late, 0))).astype(np.int64)
    cell = matched.place * len(own.steps) + own.column
    order = np.lexsort((chain.own_start_ns, cell))
    # So far apart that no cell reaches into the next.
    number = np.cumsum(np.append(0, np.diff(cell[order]) != 0)[: len(cell)])
    shift = number * (int(lag.max(initial=0)) + 1)
    result = np.empty(len(lag))
    result[order] = np.maximum.accumulate(lag[order] + shift) - shift
    return result


def _ready(matched: Matched, chain: Chain, lag: Floats) -> Floats:
    """Return when members are ready, those that were queued as others that were not; shape (m,)."""
    ready = chain.arrives_ns.astype(float)
    is_queued = chain.behind >= 0
    queued = np.flatnonzero(is_queued)
    if not len(queued):
        return ready
    base = chain.own.base_ns[matched.place, chain.own.column]
    spent = chain.own_start_ns - lag - base
    tells = np.flatnonzero(~is_queued & np.isfinite(spent))
    tells = tells[np.argsort(matched.slot[tells], kind="stable")]
    slots, first = np.unique(matched.slot[tells], return_index=True)
    usual = np.append(medians(spent[tells], np.append(first, len(tells))), np.nan)
    at = np.searchsorted(slots, matched.slot[queued])
    at[np.append(slots, -1)[at] != matched.slot[queued]] = len(slots)
    sooner = chain.own_start_ns[queued] - base[queued] - usual[at]
    # If all its members were queued none made the others wait: all were ready before.
    all_queued = np.logical_and.reduceat(is_queued, matched.first[:-1])[matched.collective[queued]]
    sooner = np.where(np.isfinite(sooner), sooner, np.where(all_queued, np.inf, 0.0))
    # No sooner than it was launched, nor than what it waited for was over.
    most = np.minimum(matched.start_ns[queued] - matched.launch_ns[queued], chain.gap_ns[queued])
    ready[queued] -= np.clip(sooner, 0, np.maximum(most, 0))
    return ready


def _run(
    matched: Matched,
    chain: Chain,
    waits: MemberWaits,
    waves: Waves,
    arrives: Floats,
    needs: Floats,
) -> Floats:
    """Return when each collective ends, from the first arrival of all on; shape (c,).

    Args:
        arrives, needs: as in `Chain`; shape (m,).
    """
    if not len(matched.group):
        return np.zeros(0)
    # When each rank began, in common time.
    began = np.full(len(matched.ranks), np.iinfo(np.int64).max)
    np.minimum.at(began, matched.place, waits.arrival_ns)
    origin = float(began.min())
    began_ns = began - origin
    took = matched.end_ns - matched.start_ns
    ends = np.maximum.reduceat(waits.arrival_ns - origin + took, matched.first[:-1])
    goes_on = ends[matched.collective]  # when a rank goes on that has waited for a member
    is_done = np.zeros(len(goes_on), bool)
    collective = matched.collective
    for ready, members, begins in waves:
        place = matched.place[members]

        def since(before: Ints, upto: Floats, place: Ints = place) -> Floats:
            after = np.where(before >= 0, goes_on[before] - needs[before], began_ns[place])
            return after + upto

        behind = chain.behind[members]
        arrival = since(chain.before[members], arrives[members])
        arrival = np.where(behind >= 0, np.maximum(arrival, ends[collective[behind]]), arrival)
        ends[ready] = np.maximum.reduceat(arrival, begins) + waits.transfer_ns[ready]
        needed = since(chain.needed_before[members], needs[members])
        # In a circle one is not over yet, and its recorded end says nothing.
        is_open = (chain.needed_before[members] >= 0) & ~is_done[chain.needed_before[members]]
        needed = np.where(is_open, -np.inf, needed)
        goes_on[members] = np.maximum(needed, ends[collective[members]])
        is_done[members] = True
    return ends
