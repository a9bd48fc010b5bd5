"""Transfer told from waiting in matched collectives, and who comes last to each.

Where no member is done before all have arrived, the member that arrives last has the shortest part
in the collective: that is the transfer, and what the others' take beyond it is waiting. Clocks play
no part. Of broadcasts and the like, and of point-to-point operations, arrivals in common time tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .clocks import Clocks
from .matching import Matched
from .stretches import above_others, medians
from .table import SEND_RECV, Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class MemberWaits:
    """Who waits for whom; columns of members have shape (m,), of collectives (c,).

    Attributes:
        arrival_ns: when each member arrives, in the common time of its component.
        waiting_ns: how long each waits for the last one.
        late_ns: by how much each arrives later than the others do in the median; negative if
            earlier.
        transfer_ns: of each collective, from the last arrival on.
        last: the place of the rank that arrives last.
        lead_ns: by how much that one is later than the next to last.
        is_known: whether arrivals can be told: the ends lie together, or clocks are known.
    """

    arrival_ns: Ints
    waiting_ns: Ints
    late_ns: Floats
    transfer_ns: Ints
    last: Ints
    lead_ns: Ints
    is_known: Bools


def waits_of(matched: Matched, clocks: Clocks) -> MemberWaits:
    """Tell transfer from waiting in each collective."""
    first, count = matched.first[:-1], matched.count
    arrival = clocks.common_ns(matched.place, matched.start_ns)
    if not len(first):
        none = np.zeros(0, np.int64)
        return MemberWaits(arrival, none, np.zeros(0), none, none, none, np.zeros(0, bool))
    took = matched.end_ns - matched.start_ns
    all_wait = np.repeat(matched.all_wait, count)
    # How long before the end of its collective each arrives; the smallest has the last one.
    ends = np.repeat(
        np.maximum.reduceat(clocks.common_ns(matched.place, matched.end_ns), first), count
    )
    before = np.where(all_wait, took, ends - arrival)
    collective = matched.collective
    order = np.lexsort((matched.place, before, collective))
    transfer = before[order[first]]
    waiting = np.clip(before - np.repeat(transfer, count), 0, took)
    # A thread of the host may see late that a collective is done.
    spread = np.maximum.reduceat(clocks.residual_ns, first)
    spread = np.where(matched.on_device, 0, spread - np.minimum.reduceat(clocks.residual_ns, first))
    waiting = np.maximum(waiting - np.repeat(spread.astype(np.int64), count), 0)
    second = order[first + np.minimum(1, count - 1)]
    sure = np.isfinite(clocks.uncertainty_ns)[matched.place]
    is_known = clocks.together(matched) & (matched.all_wait | np.logical_and.reduceat(sure, first))
    return MemberWaits(
        arrival, waiting, -above_others(before, matched.first), transfer,
        matched.place[order[first]], waiting[second], is_known,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class GroupTime:
    """What collectives of one group and operation take, by the means of their members.

    Attributes:
        group: an index into `Matched.groups`, -1 if not recorded.
        operation: an index into `Matched.operations`.
        collectives: how many there are.
        members: how many members these have.
        nbytes: the median size, -1 if not recorded.
        transfer_ns, waiting_ns: in all, of one member in the mean.
        exposed_ns: how much of both nothing else hides, -1 if not known.
        small: how many are so small that their latency is all they take.
    """

    group: int
    operation: int
    collectives: int
    members: int
    nbytes: int
    transfer_ns: int
    waiting_ns: int
    exposed_ns: int
    small: int


# Below this a collective over NVLink or InfiniBand takes its latency, some 10 to 50 us.
SMALL_NBYTES = 64 << 10


def times_by_group(matched: Matched, waits: MemberWaits) -> list[GroupTime]:
    """Add up communication by group and operation, the longest in all first."""
    if not len(matched.group):
        return []
    key = (matched.group + 1) * len(matched.operations) + matched.operation
    kinds, kind = np.unique(key, return_inverse=True)
    of_member = kind[matched.collective]
    per_collective = matched.count.astype(float)
    first = matched.first[:-1]
    sizes = np.maximum.reduceat(matched.nbytes, first)
    waited = np.add.reduceat(waits.waiting_ns, first) / per_collective
    exposed = np.add.reduceat(np.maximum(matched.exposed_ns, 0), first) / per_collective
    unknown = np.bincount(of_member, matched.exposed_ns < 0) > 0
    is_small = (sizes >= 0) & (sizes < SMALL_NBYTES)
    total = [np.bincount(kind, each) for each in (waits.transfer_ns, waited, exposed, is_small)]
    order = np.lexsort((sizes, kind))
    bounds = np.append(0, np.cumsum(np.bincount(kind)))
    middle = medians(sizes[order], bounds)
    result = [
        GroupTime(
            int(each) // len(matched.operations) - 1,
            int(each) % len(matched.operations),
            int(bounds[n + 1] - bounds[n]),
            round(members),
            int(middle[n]),
            int(total[0][n]),
            int(total[1][n]),
            -1 if unknown[n] else int(total[2][n]),
            int(total[3][n]),
        )
        for n, (each, members) in enumerate(
            zip(kinds.tolist(), np.bincount(kind, per_collective) / np.bincount(kind), strict=True)
        )
    ]
    return sorted(result, key=lambda each: -(each.transfer_ns + each.waiting_ns))


def is_point_to_point(matched: Matched) -> Bools:
    """Tell which collectives are a send and its receive; shape (c,)."""
    by_operation = np.array([each == SEND_RECV for each in matched.operations], bool)
    result: Bools = by_operation[matched.operation] if len(matched.group) else np.zeros(0, bool)
    return result
