"""Waiting for other ranks, told from transfer where several ranks' traces are there.

A collective's kernel runs on each rank from when that rank arrives until all are done, so the rank
that arrives last has the shortest, and what the others' take beyond that is waiting. Clocks of the
ranks need not agree for this. Collectives are matched by process group and sequence number if
these are recorded, else by their step, their operation, their order in it and their size; that they
end together shows that the match is right.

Where one process drives several devices, these are matched in the same way. Gloo, MPI and UCC have
no kernels: what they record of their work on the host takes the place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..trace import Intervals, Rows, Trace
from ..trace.kinds import COLLECTIVES_ON_HOST
from . import work_kinds
from .collective_args import said_of_collectives
from .device_work import (
    ABOVE_SHORTEST,
    CODE_OF,
    TRANSFER,
    WAITING_FOR_RANKS,
    kernels_of_collectives,
)
from .pieces import Stretches, joined
from .which_job import jobs_of

# Each rank may have a size of its own in these.
_OWN_SIZE = ("all_to_all", "alltoall", "send", "recv", "gather", "scatter")
# How far apart the ends of one collective may lie on different ranks, clocks set right.
_ENDS_TOGETHER_NS = 200_000
# The same on the host, where a thread may wait for a processor before it sees that one is done.
ENDS_TOGETHER_ON_HOST_NS = 10_000_000
_LONG = np.iinfo(np.int64).max
_ANY_TIME = np.iinfo(np.int64).min // 2
_NONE = np.empty(0, np.int64)
_Key = tuple[int, str, int]
_NUMBERED = -2  # stands for the step of what has a number in its group


@dataclass(frozen=True, slots=True)
class RankWaits:
    """Of one rank's collectives that were matched.

    Attributes:
        rows: their kernels, or what was recorded of them on the host.
        waiting_ns: how long each waits for the rank that arrives last.
        earliest_ns: when each may begin, as long as it is, without ending before the other ranks
            let it end, if they stay as they are.
        last: the rank that arrives last to each; of one process the device that does.
        late_ns: how much later that one arrives than the others do in the median.
        lead_ns: how much later it arrives than the next to last.
    """

    rows: Rows
    waiting_ns: Rows
    earliest_ns: Rows
    last: Rows
    late_ns: Rows
    lead_ns: Rows

    def at(self, some: NDArray[np.bool_]) -> RankWaits:
        """Return some of the collectives."""
        return RankWaits(*(getattr(self, each.name)[some] for each in fields(self)))

    def time(self, trace: Trace) -> Intervals:
        """Return the time in which they wait, and no other work runs."""
        starts = trace.start_ns[self.rows]
        others = np.setdiff1d(trace.device_rows, self.rows)
        return Intervals(starts, starts + self.waiting_ns) - trace.time_of(others)


@dataclass(frozen=True, slots=True)
class _Collectives:
    """The collectives of one rank by key: step, operation, and number among those in the step.

    If their sequence numbers in their groups are recorded, these stand for step and number.
    """

    trace: Trace
    number: int  # the rank, or the device
    rows: dict[_Key, int]
    counts: dict[tuple[int, str], int]
    sizes: dict[_Key, object]


def waits_for_ranks(traces: Sequence[Trace]) -> list[RankWaits | None]:
    """Return for each trace how long its collectives wait for other ranks; None if nothing
    tells.
    """
    result: list[RankWaits | None] = [None] * len(traces)
    for job in jobs_of([trace.info for trace in traces]):
        whole = [number for number in job if not traces[number].info.is_thinned]
        if len(whole) > 1:
            told = [traces[number] for number in whole]
            ranks = [_collectives(each, each.info.rank or 0, _communication(each)) for each in told]
            for number, each in zip(whole, _of_job(ranks), strict=True):
                result[number] = each
        elif whole:
            result[whole[0]] = waits_for_devices(traces[whole[0]])
    return result


def waits_for_devices(trace: Trace) -> RankWaits | None:
    """Return the same for the devices that one process drives; None unless several communicate."""
    rows = _communication(trace)
    devices = np.unique(trace.device[rows]).tolist()
    if len(devices) < 2 or trace.info.is_thinned:
        return None
    ranks = [_collectives(trace, device, rows[trace.device[rows] == device]) for device in devices]
    waits = _of_job(ranks)
    columns = {
        each.name: np.concatenate([getattr(of_device, each.name) for of_device in waits])
        for each in fields(RankWaits)
    }
    # A replay of this trace moves all of them.
    return RankWaits(**{**columns, "earliest_ns": np.full(len(columns["rows"]), _ANY_TIME)})


def told_apart(trace: Trace, busy: Stretches, waits: RankWaits | None) -> Stretches:
    """Communication, parted into waiting for other ranks and transfer.

    With one rank's trace into what a collective takes beyond the shortest of its like, and that.
    """
    communicates = busy.kind == CODE_OF[work_kinds.COMMUNICATION]
    if not communicates.any():
        return busy
    wait = np.full(len(trace), -1, np.int64)
    if waits is not None:
        kinds = WAITING_FOR_RANKS, TRANSFER
        wait[waits.rows] = waits.waiting_ns
    else:
        kinds = ABOVE_SHORTEST, work_kinds.COMMUNICATION
        for rows in _alike(trace):
            wait[rows] = trace.duration_ns[rows] - trace.duration_ns[rows].min()
    matched = communicates & (wait[busy.row] >= 0)
    mine = busy.at(matched)
    arrived = np.clip(trace.start_ns[mine.row] + wait[mine.row], mine.start_ns, mine.end_ns)
    parts = [busy.at(~matched)]
    for kind, start, end in zip(
        kinds, (mine.start_ns, arrived), (arrived, mine.end_ns), strict=True
    ):
        some = end > start
        codes = np.full(np.count_nonzero(some), CODE_OF[kind], np.int8)
        parts.append(Stretches(start[some], end[some], codes, mine.row[some]))
    return joined(parts)


def _alike(trace: Trace) -> Iterator[list[int]]:
    """Collectives of one device that are the same one of different steps, as it seems."""
    if trace.info.is_thinned:
        return
    rows = _communication(trace)
    for device in np.unique(trace.device[rows]).tolist():
        mine = rows[trace.device[rows] == device]
        found = _collectives(trace, device, mine, by_number=False)
        counts = defaultdict[str, set[int]](set)
        for (step, operation), count in found.counts.items():
            counts[operation].update([count] if step >= 0 else [])
        same = defaultdict[tuple[str, int, object], list[int]](list)
        for key, row in found.rows.items():
            step, operation, number = key
            if step >= 0 and len(counts[operation]) == 1:
                same[operation, number, found.sizes[key]].append(row)
        yield from same.values()


def _of_job(ranks: Sequence[_Collectives]) -> list[RankWaits]:
    found = [list[RankWaits]() for _ in ranks]
    for members, keys in _by_members(ranks).items():
        waits = _matched([ranks[each] for each in members], keys)
        for member, mine in zip(members, waits, strict=True):
            found[member].append(mine)
    return [
        RankWaits(
            *(
                np.concatenate([_NONE, *(getattr(one, each.name) for one in mine)])
                for each in fields(RankWaits)
            )
        )
        for mine in found
    ]


def _by_members(ranks: Sequence[_Collectives]) -> dict[tuple[int, ...], list[_Key]]:
    """The keys of collectives by which ranks, two or more, are told to have each.

    A number in a group is the same collective on all that have it: the members of the group, but
    for one whose recording lacks it. Without numbers all ranks need as many of a kind.
    """
    have = defaultdict[_Key, list[int]](list)
    for number, rank in enumerate(ranks):
        for key in rank.rows:
            if key[0] == _NUMBERED:
                have[key].append(number)
    found = defaultdict[tuple[int, ...], list[_Key]](list)
    for key, members in have.items():
        if len(members) > 1:
            found[tuple(members)].append(key)
    everyone = tuple(range(len(ranks)))
    found[everyone] += [key for key in ranks[0].rows if key[0] != _NUMBERED and _on_all(key, ranks)]
    return found


def _matched(ranks: Sequence[_Collectives], keys: Sequence[_Key]) -> list[RankWaits]:
    """How long each of these ranks waits in the collectives that all of them have."""
    rows = np.array([[rank.rows[key] for key in keys] for rank in ranks], np.int64)
    rows = rows.reshape(len(ranks), len(keys))
    of_each = list(zip(ranks, rows, strict=True))
    ends = np.array([rank.trace.end_ns[mine] for rank, mine in of_each], np.int64)
    took = np.array([rank.trace.duration_ns[mine] for rank, mine in of_each], np.int64)
    apart = ends - ends[0]
    on_host = np.logical_or.reduce([rank.trace.device[mine] < 0 for rank, mine in of_each])
    if keys:
        apart = apart - np.median(apart, axis=1)[:, None].astype(np.int64)
    spread = np.ptp(apart, axis=0)
    headers = [rank.trace.info.header for rank in ranks]
    if any(key.startswith("tidy_") for header in headers for key in header):
        # If tidy recorded the ranks, their clocks stand at times: what lies between two tells.
        between = np.ptp(np.diff(apart, axis=1), axis=0)
        spread[1:] = np.where(on_host[1:], between, spread[1:])
    # Steps with the times of other steps have no clock in common.
    spread *= not any("tidy_times" in header for header in headers)
    together = spread < np.where(on_host, ENDS_TOGETHER_ON_HOST_NS, _ENDS_TOGETHER_NS)
    waiting = took - took.min(axis=0, initial=_LONG)
    waiting = np.maximum(waiting - np.where(on_host, spread, 0), 0)
    last = np.array([rank.number for rank in ranks])[took.argmin(axis=0)]
    of_others = np.sort(waiting, axis=0)[1:]
    late = np.median(of_others, axis=0).astype(np.int64)
    result = []
    for number, mine in enumerate(rows):
        # The rank that arrives last may begin so much earlier until another one is the last.
        lead = np.delete(waiting, number, axis=0).min(axis=0, initial=_LONG)
        earliest = ends[number] - took[number] - lead
        told = (mine, waiting[number], earliest, last, late, of_others[0])
        result.append(RankWaits(*told).at(together))
    return result


def _on_all(key: _Key, ranks: Sequence[_Collectives]) -> bool:
    """Whether all ranks have a collective: as many in its step, and of the same size."""
    step, operation, _ = key
    counts = {rank.counts.get((step, operation), 0) for rank in ranks}
    own_size = any(word in operation for word in _OWN_SIZE)
    return len(counts) == 1 and (own_size or len({rank.sizes[key] for rank in ranks}) == 1)


def _communication(trace: Trace) -> Rows:
    """Kernels of collectives; where there are none, what was recorded of them on the host."""
    rows = kernels_of_collectives(trace)
    return rows if len(rows) else collectives_on_host(trace)


def collectives_on_host(trace: Trace) -> Rows:
    """Find what Gloo, MPI and UCC recorded of their work, on threads of their own."""
    rows = trace.rows_named(*(f"{start}*" for start in COLLECTIVES_ON_HOST))
    return rows[rows < trace.tree_count]


def _collectives(trace: Trace, number: int, rows: Rows, *, by_number: bool = True) -> _Collectives:
    call = trace.caller[rows].astype(np.int64)
    launched = np.where(call >= 0, trace.start_ns[call], trace.start_ns[rows])
    op = np.where(call >= trace.tree_count, trace.caller[call], call)
    steps = sorted((step.start_ns, step.end_ns, step.number) for step in trace.steps)
    starts = [start for start, _, _ in steps]
    at = np.searchsorted(starts, launched, side="right") - 1
    result = _Collectives(trace, number, {}, defaultdict(int), {})
    order = np.argsort(launched, kind="stable")
    said, said_of = said_of_collectives(trace, op)
    columns = (column[order].tolist() for column in (rows, op, launched, at, said_of))
    for row, op_row, time_ns, step, number_of_said in zip(*columns, strict=True):
        in_step = steps[step][2] if step >= 0 and time_ns < steps[step][1] else -1
        named = op_row if op_row >= 0 else row
        operation = trace.names[trace.name_id[named]]
        if by_number and number_of_said >= 0 and (args := said[number_of_said]).group:
            operation = f"{operation} of {args.group} {args.ranks}"
            key = _NUMBERED, operation, args.seq
            # Several that are launched as one have one number, and the order tells.
            if args.seq >= 0 and key not in result.rows:
                result.rows[key] = row
                result.sizes[key] = None
                continue
        key = in_step, operation, result.counts[in_step, operation]
        result.counts[in_step, operation] += 1
        result.rows[key] = row
        result.sizes[key] = trace.inputs.shapes(int(trace.inputs_id[named]))
    return result
