"""TDY902: ranks that wait in their collectives for one that comes late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tidy.account import RankWaits, waits_for_devices, waits_for_ranks
from tidy.finding import NotApplicable, NotChecked, Obstacle
from tidy.trace import Capability, Event, EventKind, Events, Intervals, Location, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives, launches
from ..evidence.time.timing import Cost
from ..examples import AT, FRAME, Abstains, Fires, Quiet, launch, on_gpu, under
from ..option import WORTH_A_WARNING, Option, share, warning_share

_NO_COLLECTIVE = NotApplicable("no collective was recorded")
_UNMATCHED = NotChecked(
    "the collectives of this rank could not be matched with the others'",
    "record the same steps of all ranks, with shapes",
)

_SECOND = "# device 1 NVIDIA A100 8.0"
_REDUCE = "c10d::allreduce_"


def _reduced(*, late_us: int, took_us: int = 30, beside: str = "") -> str:
    """An all-reduce of two devices of which the second comes so much later."""
    return on_gpu(
        _SECOND,
        under(
            f"ProfilerStep#1 200us > {FRAME}",
            beside,
            launch(_REDUCE, f"ncclDevKernel_AllReduce {took_us + late_us}us"),
            f"aten::mm {late_us - 5}us" if late_us > 5 else "",
            launch(_REDUCE, f"ncclDevKernel_AllReduce {took_us}us cuda:1"),
        ),
    )


class LateRank(Pattern):
    """Ranks wait in their collectives for one that comes late.

    What it does: It matches the collectives of the ranks (of the traces given together, or of the
    devices that one process drives) by step, operation, order and size. The last to arrive has the
    shortest; what the others' take beyond that is waiting, which no clock has to agree for. The
    cost is the part of it in which the GPU does nothing else.
    Why it costs: All ranks go at the pace of the slowest, and faster networks do not help.
    Example: A rank whose loader is slower, recorded as

        rank 0   |step......|AllReduce.............|
        rank 1   |step...................|AllReduce|

    Instead: Look at the report of the rank that is named: a slower loader or device, another
    program on its machine, more or longer samples. Where ranks come last by turns, batches of even
    size help.
    Cannot see: Ranks whose traces were not given, and why the late one is late: its own report has
    where its time goes. Collectives of a part of the ranks are not matched.
    """

    code = "TDY902"
    needs = frozenset[Capability]()
    compares_ranks = True
    why_no_edit = "the fix is made on the rank that is late, and its trace has the reason"
    fix = "look at the rank that comes last: its loader, its share of the work, its machine"
    least_share = share(
        0.01, "waits that are less than this part of the steps are not worth a word"
    )
    most_of_waiting = share(
        2 / 3, "a rank is the late one where it makes up this part of the waiting"
    )
    far_less = share(
        0.5, "the late rank waits itself for no more than this part of what others wait for it"
    )
    at_once_ns = Option(
        50_000, "a kernel that begins so soon after its launch found its device idle: a late host"
    )
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("second-device", _reduced(late_us=60), at=AT),
        Quiet("at-the-same-time", _reduced(late_us=1)),
        Quiet("hidden", _reduced(late_us=60, beside=launch("aten::mm", "gemm 90us"))),
        Abstains("one-rank", on_gpu(launch(_REDUCE, "ncclDevKernel_AllReduce 50us"))),
        Abstains("no-collective", on_gpu(launch("aten::mm", "gemm 50us"))),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not collectives.communicates(trace):
            return _NO_COLLECTIVE
        if waits_for_devices(trace) is None:
            return NotChecked(
                "the trace of one rank does not tell which one is late",
                "give the traces of all ranks of the job to tidy report together",
            )
        return None

    def find(self, trace: Trace) -> Matches:
        waits = waits_for_devices(trace)
        if waits is None:
            return
        devices = trace.device[waits.rows]
        columns = (waits.rows, waits.waiting_ns, waits.earliest_ns, waits.last)
        of_each = {
            device: _Rank(trace, RankWaits(*(each[devices == device] for each in columns)), "GPU")
            for device in np.unique(devices).tolist()
        }
        for device in of_each:
            yield from self._matches(device, of_each)

    def find_on_ranks(self, traces: Sequence[Trace]) -> Sequence[Matches | Obstacle]:
        of_each = {
            trace.info.rank or 0: _Rank(trace, waits, "rank")
            for trace, waits in zip(traces, waits_for_ranks(traces), strict=True)
            if waits is not None and len(waits.rows)
        }

        def told(trace: Trace) -> Matches | Obstacle:
            if not collectives.communicates(trace):
                return _NO_COLLECTIVE
            rank = trace.info.rank
            return _UNMATCHED if rank not in of_each else self._matches(rank or 0, of_each)

        return list(map(told, traces))

    def _matches(self, number: int, of_each: Mapping[int, _Rank]) -> Matches:
        rank = of_each[number]
        trace, waits, time = rank.trace, rank.waits, rank.exposed
        waiting = np.where(trace.in_window(waits.rows), waits.waiting_ns, 0)
        if (trace.step_share(time) or 0.0) < self.least_share or not waiting.any():
            return
        op = trace.event(int(waits.rows[waiting.argmax()]))
        yield Match(
            Events(trace, waits.rows[waiting > 0]),
            message=f"{rank.word} {number} waits for {self._whom(number, of_each)}",
            location=_place(trace, op),
            cost=Cost(time, on_device=op.device >= 0),
        )

    def _whom(self, number: int, of_each: Mapping[int, _Rank]) -> str:
        """Tell whom a rank waits for: `rank 1, which comes last to 6 of 8 collectives and ...`."""
        rank = of_each[number]
        waits = rank.waits
        by_rank = {late: int(waits.waiting_ns[waits.last == late].sum()) for late in of_each}
        late, for_it = max(by_rank.items(), key=itemgetter(1))
        is_most = for_it >= self.most_of_waiting * waits.waiting_ns.sum()
        own = of_each[late].waits.waiting_ns.sum()
        if late == number or not is_most or own > self.far_less * for_it:
            return f"other {rank.word}s, which come last by turns"
        last = np.flatnonzero(waits.last == late)
        times = f"{len(last)} of {len(waits.last)} collectives"
        why = self._why(of_each[late], waits, late)
        said = f"{rank.word} {late}, which comes last to {times}{why}"
        world = rank.trace.info.world_size or 1
        some = rank.word == "rank" and len(of_each) < world
        return f"{said} (of {len(of_each)} of {world} ranks)" if some else said

    def _why(self, late: _Rank, waits: RankWaits, number: int) -> str:
        """Tell whether the late one's device still computes then, or its host launches late."""
        trace, rows = late.trace, late.waits.rows
        calls = trace.caller[rows].astype(np.int64)
        mine = (late.waits.last == number) & (calls >= 0) & (trace.device[rows] >= 0)
        if not mine.any() or len(rows) != len(waits.rows):
            return ""
        idle = trace.start_ns[rows] - trace.end_ns[np.maximum(calls, 0)] < self.at_once_ns
        weight = waits.waiting_ns[mine]
        at_once = weight[idle[mine]].sum() / max(weight.sum(), 1)
        if at_once >= self.most_of_waiting:
            return ": its host launches them late"
        return ": its GPU still computes" if at_once <= 1 - self.most_of_waiting else ""


class _Rank(NamedTuple):
    """A rank or, of one process, a device, and how its collectives wait."""

    trace: Trace
    waits: RankWaits
    word: str

    @property
    def exposed(self) -> Intervals:
        """The time of the window in which it waits, and its device does nothing else."""
        trace, rows = self.trace, self.waits.rows
        starts = trace.start_ns[rows]
        waiting = Intervals(starts, starts + self.waits.waiting_ns)
        others = [trace.rows_of_device(device) for device in np.unique(trace.device[rows]).tolist()]
        if others and (trace.device[rows] >= 0).all():
            busy = np.setdiff1d(np.concatenate(others), rows)
        else:  # on the host: what the thread computes meanwhile
            busy = trace.rows_of_kind(EventKind.TorchOp)
        return (waiting - trace.time_of(busy.tolist())) & trace.step_time


def _place(trace: Trace, work: Event) -> Location | None:
    """Tell where a collective was asked for; its work on the host has no place of its own."""
    if work.location is not None or work.device >= 0:
        return work.location
    asked = launches.by_start(trace, trace.rows_named("c10d::*"))
    at = int(np.searchsorted(trace.start_ns[asked], work.start_ns)) - 1
    return trace.location(int(asked[at])) if at >= 0 else None
