"""`LateRanks`: ranks that the others wait for, why, and what that costs the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..account import Account, Part
from ..jobs import ERROR_OF_COST, JobReplay, Lateness, Verdict, is_of_its_host, reason_of
from ..jobs.late_costs import late_cost
from ..jobs.table import Bools, Floats, Ints
from ..trace import time_text
from .late_steps import reason_in_steps
from .summary import Summary

_LEAST_SAVED = 0.01  # of the steps: what is less nobody needs to be told of
# Processes share processors with others: of a step, what a rank has to be late by.
_LEAST_ON_HOST = 0.2
# Parts that are no reason: what others make it wait for, and what says nothing.
_NO_REASON = ("transfer", "rank-wait", "device-wait", "gap", "recording", "unknown")
# Parts in which a rank does no work of its own.
_NO_WORK = ("data-loading", "host-stall", "garbage-collection", "allocator")
# Other work shows in more events: one of a step, by this share, and by times what others differ.
_MORE_EVENTS, _MORE_THAN_OTHERS = 0.002, 3.0
_LATE = (Verdict.STAYS_LATE, Verdict.PASSES)
_HOST = "its host launches them late"
_COMPUTE, _COPY = "compute", "copy"
_MORE_WORK, _SAME_WORK, _SLOWER = 1.03, 1.01, 1.05


@dataclass(frozen=True, slots=True)
class LateRanks:
    """Ranks that stay late, or that are late now and then.

    Attributes:
        verdict: which of the two.
        ranks: the ranks, ascending.
        late_ns: the least and the most: of ranks that stay late what each is late by in its median
            step, of others how late one is in such a step; None if it is not known.
        steps: the numbers of the steps in which one of them is late, ascending.
        latest: the rank that is late by most.
        reason: why that one is late, from its account beside the others'; "" if that is not known.
        saved_ns: what the job would save if they came as others do, at least and at most: of a step
            if they stay late, else in all; None if it is not known.
        why_not_saved: why that is not known; "" if it is.
    """

    verdict: Verdict
    ranks: tuple[int, ...]
    late_ns: tuple[int, int] | None
    steps: tuple[int, ...]
    latest: int
    reason: str
    saved_ns: tuple[int, int] | None
    why_not_saved: str


def late_ranks(
    summaries: Sequence[Summary], replay: JobReplay, lateness: Lateness, *, are_all: bool
) -> tuple[LateRanks, ...]:
    """Gather the ranks that are late, those that stay so first.

    Args:
        summaries: of the ranks compared, by their places.
        are_all: whether these are all ranks of the job.
    """
    found = []
    for verdict in _LATE:
        are = np.array([each == verdict for each in lateness.verdicts], bool)
        if are.any() and not are.all():
            found.append(_of(verdict, are, summaries, replay, lateness, are_all))
    return tuple(each for each in found if each is not None)


def _of(
    verdict: Verdict,
    are: Bools,
    summaries: Sequence[Summary],
    replay: JobReplay,
    lateness: Lateness,
    are_all: bool,
) -> LateRanks | None:
    places = np.flatnonzero(are)
    steps = np.unique(np.concatenate([lateness.late_steps(each) for each in places.tolist()]))
    mean_ns = np.nanmean(lateness.late_ns[places], axis=1)
    by_ns = lateness.usual_ns[places]
    if verdict == Verdict.PASSES:
        by_ns = _late_in(steps, are, replay)
        latest = int(places[mean_ns.argmax()])
    else:
        latest = int(places[by_ns.argmax()])
        own_ns = float(by_ns.max())
    least_ns = 0.0 if replay.matched.on_device.all() else _LEAST_ON_HOST * lateness.step_ns
    if not len(by_ns) or float(by_ns.max()) < least_ns:
        return None
    of_host = any(is_of_its_host(summaries[place].collectives) for place in places.tolist())
    judged = lateness.steps_known(are)
    of = judged if verdict == Verdict.STAYS_LATE else 1
    saved, why_not = _saved_ns(of, judged * lateness.step_ns, are, summaries, replay, are_all)
    if saved is not None and saved[1] <= 0:
        return None
    late = [n for n, each in enumerate(lateness.verdicts) if each in _LATE]
    others = np.setdiff1d(replay.matched.beside(latest), late).tolist()
    if of_host:
        reason = _HOST
    elif verdict == Verdict.PASSES:
        reason = reason_in_steps(summaries, replay.matched, lateness, (latest, *others))
    else:
        reason = _reason([summaries[each] for each in (latest, *others)], own_ns)
    return LateRanks(
        verdict,
        tuple(replay.matched.ranks[places].tolist()),
        None if of_host else (round(float(by_ns.min())), round(float(by_ns.max()))),
        tuple(steps.tolist()),
        int(replay.matched.ranks[latest]),
        reason,
        saved,
        why_not,
    )


def _saved_ns(
    of: int,
    judged_ns: float,
    are: Bools,
    summaries: Sequence[Summary],
    replay: JobReplay,
    are_all: bool,
) -> tuple[tuple[int, int] | None, str]:
    """Return what would be saved and "", or None and why it is not known; (0, 0) if too little.

    Args:
        of: the number of steps of which the mean is wanted: those in which lateness is known, since
            the replay changes no others.
        judged_ns: how long these take, in the median of all; gaps between steps are no part of it.
    """
    if not are_all:
        return None, "not all ranks of the job are compared"
    known = late_cost(replay, are, [each.collectives for each in summaries])
    if known.cost_ns is None:
        return None, known.why_not
    if known.cost_ns < _LEAST_SAVED * judged_ns:
        return (0, 0), ""
    if known.why_not:
        return None, known.why_not
    off_ns = abs(replay.error) * float(replay.end_ns.max())
    low_ns = (1 - ERROR_OF_COST) * min(known.cost_ns, known.waited_ns) - off_ns
    high_ns = (1 + ERROR_OF_COST) * known.cost_ns + off_ns
    return (round(max(low_ns, 0) / of), round(high_ns / of)), ""


def _late_in(steps: Ints, are: Bools, replay: JobReplay) -> Floats:
    """Return by how much one of some ranks comes late in each step, at the most; shape (s,)."""
    matched = replay.matched
    step = matched.step[matched.collective]
    mine = are[matched.place] & replay.waits.is_known[matched.collective] & np.isin(step, steps)
    late = np.zeros(len(steps))
    np.maximum.at(late, np.searchsorted(steps, step[mine]), replay.waits.late_ns[mine])
    return late


def _reason(summaries: Sequence[Summary], late_ns: float) -> str:
    """Say on what a late rank spends its time: `its GPU computes for 1.24 ms longer`.

    Args:
        summaries: the late rank's, then those of ranks that do the same work and are not late.
    """
    accounts = [next(iter(each.accounts), None) for each in summaries]
    known = [each for each in accounts if each is not None]
    found = reason_of(_parts(summaries), 0, late_ns)
    if found is None or len(known) < len(accounts):
        return ""
    account, more = known[0], time_text(found.more_ns)
    works = found.part not in {_name(each) for each in account.parts if each.cause in _NO_WORK}
    is_more = works and _does_more_events(summaries)
    with_more = ", with work that others do not do" if is_more else ""
    if found.part == _COMPUTE:
        return f"its {account.sort} computes for {more} longer{with_more or _work(summaries)}"
    if found.part == _COPY:
        return f"its {account.sort} copies for {more} longer{with_more}"
    sort, _, cause = found.part.partition(": ")
    if sort == "idle":
        return f"its {account.sort} idles for {more} longer: {cause}{with_more}"
    return f"its host takes {more} longer: {cause}{with_more}"


def _does_more_events(summaries: Sequence[Summary]) -> bool:
    """Tell whether the first rank has more events in a step than the others; False if unknown."""
    events = list[float]()
    for each in summaries:
        if each.run.window_event_count is None:
            return False
        events.append(each.run.window_event_count / max(len(each.run.window.steps), 1))
    most = max(events[1:])
    least = max(_MORE_THAN_OTHERS * (most - min(events[1:])), _MORE_EVENTS * most, 1.0)
    return events[0] - most >= least


def _parts(summaries: Sequence[Summary]) -> Mapping[str, Floats]:
    """Return what each rank spends on each part of a step in ns, the mean of its devices."""
    parts = dict[str, Floats]()
    for place, each in enumerate(summaries):
        for account in each.accounts:
            share = len(each.accounts) * max(account.window.step_count, 1)
            for part in account.parts:
                if part.cause in _NO_REASON:
                    continue
                column = parts.setdefault(_name(part), np.zeros(len(summaries)))
                column[place] += part.time_ns / share
    has_none = np.array([not each.accounts for each in summaries])
    return {name: np.where(has_none, np.nan, column) for name, column in parts.items()}


def _name(part: Part) -> str:
    return part.part if part.part in (_COMPUTE, _COPY) else f"{part.part}: {part.text}"


def _work(summaries: Sequence[Summary]) -> str:
    """Say whether the first computes more than others, or the same for longer; "" if unknown."""
    flops, time_ns = np.array([_products(each.accounts) for each in summaries], float).T
    if not (flops > 0).all():
        return ""
    more = flops[0] / float(np.median(flops[1:]))
    longer = time_ns[0] / float(np.median(time_ns[1:]))
    if more >= _MORE_WORK:
        return f", with {more - 1:.0%} more operations in products"
    if 1 / _SAME_WORK <= more <= _SAME_WORK and longer >= _SLOWER:
        return f": the same products take {longer:.2f} times as long"
    return ""


def _products(accounts: Sequence[Account]) -> tuple[float, float]:
    """Return operations and nanoseconds of products in a step; 0 where some are not counted."""
    flops = time_ns = 0.0
    for each in accounts:
        known = each.efficiency
        if known is None or known.uncounted_ns:
            return 0.0, 0.0
        steps = max(each.window.step_count, 1)
        flops += sum(one.flops for one in known.products) / steps
        time_ns += sum(one.time_ns for one in known.products) / steps
    return flops, time_ns
