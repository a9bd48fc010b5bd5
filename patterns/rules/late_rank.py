"""TDY902: ranks that wait in their collectives for one that comes late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

import numpy as np

from tidy.account import Accountant, RankWaits, main_track, waits_for_devices, waits_for_ranks
from tidy.finding import FixPlace, NotApplicable, NotChecked, Obstacle
from tidy.savings import Edit
from tidy.trace import (
    Capability,
    Event,
    EventKind,
    Events,
    Intervals,
    Location,
    Rows,
    Trace,
    time_text,
)

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

_MOST_LINES = 1_000
_MOST_OF_LATE = 0.5  # a line at which so much of the time goes is the reason
_LITTLE_OF_LATE = 0.1  # work that differs by less than this part of it is none

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
    devices that one process drives) by process group and sequence number if these are recorded,
    else by step, operation, order and size. The rank that arrives last has the shortest collective;
    the time that the other ranks' take beyond that is waiting. The clocks of the ranks need not
    agree for this. The cost is the part of the waiting in which the GPU does nothing else.
    Why it costs: All ranks go at the pace of the slowest, and faster networks do not help.
    Example: A rank whose loader is slower, recorded as

        rank 0   |step......|AllReduce.............|
        rank 1   |step...................|AllReduce|

    Where one rank is late, the saving is that of the others' waiting: at best it arrives when the
    others do in the median, at worst when the next to last does; and, if it stays late, no more
    than a replay of the whole job says. No saving is estimated where hosts may be the limit, and
    nothing is sure where the traces of some ranks were not given.
    Instead: Look at the report of the rank that is named: a slower loader or device, another
    program on its machine, more or longer samples. Where ranks come last by turns, batches of even
    size help.
    Cannot see: Ranks whose traces were not given, and why the late one is late: its own report has
    where its time goes. Collectives of a part of the ranks are not matched.
    """

    code = "TDY902"
    needs = frozenset[Capability]()
    compares_ranks = True
    why_no_edit = "what would let all of them arrive in time is not known"
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
                "this rank was checked without the others, and alone does not tell which is late",
                "give the traces of all ranks of the job to tidy report together",
            )
        return None

    def find(self, trace: Trace) -> Matches:
        waits = waits_for_devices(trace)
        if waits is None:
            return
        of_each = {
            device: _Rank(trace, waits.at(trace.device[waits.rows] == device), "GPU")
            for device in np.unique(trace.device[waits.rows]).tolist()
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
        late, edit, place = self._late(number, of_each), None, None
        # Steps with the times of other steps tell of a rank that is always late, and of no turns.
        if late is None and any(
            "tidy_times" in each.trace.info.header for each in of_each.values()
        ):
            return
        # Of one process the late one's own work would have to change as well.
        if late is not None and of_each[late].trace is not trace:
            are_all = len(of_each) == (trace.info.world_size or 1)
            edit = rank.in_time(late, are_all=are_all)
            place = _longer_at(of_each[late], late, rank)
        yield Match(
            Events(trace, waits.rows[waiting > 0]),
            message=f"{rank.word} {number} waits for {self._whom(number, late, of_each)}",
            location=_place(trace, op),
            cost=Cost(time, on_device=op.device >= 0),
            edit=edit,
            fix_place=place,
        )

    def _late(self, number: int, of_each: Mapping[int, _Rank]) -> int | None:
        """Find the one that a rank waits for; None where they come last by turns."""
        waits = of_each[number].in_window
        by_rank = {late: int(waits.waiting_ns[waits.last == late].sum()) for late in of_each}
        late, for_it = max(by_rank.items(), key=itemgetter(1))
        is_most = for_it >= self.most_of_waiting * waits.waiting_ns.sum()
        own = of_each[late].in_window.waiting_ns.sum()
        return None if late == number or not is_most or own > self.far_less * for_it else late

    def _whom(self, number: int, late: int | None, of_each: Mapping[int, _Rank]) -> str:
        """Tell whom a rank waits for: `rank 1, which comes last to 6 of 8 collectives, by ...`."""
        rank = of_each[number]
        if late is None:
            return f"other {rank.word}s, which come last by turns"
        last = rank.in_window.last
        times = f"{np.count_nonzero(last == late)} of {len(last)} collectives"
        # One that is queued behind another is late by the same time once more.
        late_ns = min(of_each[late].late_ns(late), rank.waits_ns(late))
        by = f", by {time_text(late_ns)} a {rank.trace.window.unit}"
        why = self._why(of_each[late], rank, late, late_ns)
        said = f"{rank.word} {late}, which comes last to {times}{by}{why}"
        world = rank.trace.info.world_size or 1
        some = rank.word == "rank" and len(of_each) < world
        return f"{said} (of {len(of_each)} of {world} ranks)" if some else said

    def _why(self, late: _Rank, other: _Rank, number: int, late_ns: float) -> str:
        """Tell whether the late one's device computes for longer, or its host launches late."""
        trace, rows = late.trace, late.waits.rows
        calls = trace.caller[rows].astype(np.int64)
        mine = (late.waits.last == number) & (calls >= 0) & (trace.device[rows] >= 0)
        mine &= trace.in_window(rows)
        if not mine.any():
            return ""
        idle = trace.start_ns[rows] - trace.end_ns[np.maximum(calls, 0)] < self.at_once_ns
        weight = late.waits.late_ns[mine]
        at_once = weight[idle[mine]].sum() / max(weight.sum(), 1)
        if at_once >= self.most_of_waiting:
            return ": its host launches them late"
        if at_once > 1 - self.most_of_waiting:
            return ""
        more_ns = late.works_ns - other.works_ns
        if more_ns >= _MOST_OF_LATE * late_ns:
            return f": its GPU computes for {time_text(more_ns)} longer"
        return ": its GPU gets its work late" if more_ns <= _LITTLE_OF_LATE * late_ns else ""


@dataclass(frozen=True)
class _Rank:
    """A rank or, of one process, a device, and how its collectives wait."""

    trace: Trace
    waits: RankWaits
    word: str

    @cached_property
    def in_window(self) -> RankWaits:
        """The collectives of the window."""
        return self.waits.at(self.trace.in_window(self.waits.rows))

    @property
    def exposed(self) -> Intervals:
        """The time of the window in which it waits, and its device does nothing else."""
        starts = self.trace.start_ns[self.waits.rows]
        return self._exposed(starts, starts + self.waits.waiting_ns)

    def _exposed(self, starts_ns: Rows, ends_ns: Rows) -> Intervals:
        trace, rows = self.trace, self.waits.rows
        others = [trace.rows_of_device(device) for device in np.unique(trace.device[rows]).tolist()]
        if others and self._on_device:
            busy = np.setdiff1d(np.concatenate(others), rows)
        else:  # on the host: what the thread computes meanwhile
            busy = trace.rows_of_kind(EventKind.TorchOp)
        waiting = Intervals(starts_ns, ends_ns) - trace.time_of(busy.tolist())
        return waiting & trace.step_time

    @property
    def _on_device(self) -> bool:
        return bool((self.trace.device[self.waits.rows] >= 0).all())

    def waits_ns(self, late: int) -> float:
        """For how long of a step its device does nothing but wait for another one."""
        waits = self.in_window.at(self.in_window.last == late)
        starts = self.trace.start_ns[waits.rows]
        exposed = self._exposed(starts, starts + waits.waiting_ns)
        return exposed.total_ns / self.trace.window.step_count

    @cached_property
    def works_ns(self) -> float:
        """For how long of a step its device does other work than what was matched."""
        rows = np.setdiff1d(self.trace.device_rows, self.waits.rows)
        if self.word != "rank":  # of one process, only its own
            rows = rows[self.trace.device[rows] == self.trace.device[self.waits.rows[:1]]]
        work = self.trace.time_of(rows) & self.trace.step_time
        return work.total_ns / self.trace.window.step_count

    def late_ns(self, number: int) -> float:
        """By how much it comes later than the others, in each step with a collective."""
        inside = self.trace.in_window(self.waits.rows)
        mine = (self.waits.last == number) & inside
        starts_ns = [start for start, _ in self.trace.window.step_ranges]
        steps = np.searchsorted(starts_ns, self.trace.start_ns[self.waits.rows[inside]], "right")
        return float(self.waits.late_ns[mine].sum()) / max(len(np.unique(steps)), 1)

    @cached_property
    def lines(self) -> Counter[Location]:
        """The host's time in ns at each line, in a step."""
        of_each, steps = Counter[Location](), self.trace.window.step_count
        for line in Accountant(self.trace).by_line(_MOST_LINES):
            if line.place.location is not None:
                of_each[line.place.location] += line.host_ns // steps
        return of_each

    def in_time(self, late: int, *, are_all: bool) -> Edit:
        """Replay the run in which the late one arrives with the others: at worst with the next to
        last.

        Where collectives are queued each of them waits for what is saved once; tidy.check bounds
        the saving by a replay of the whole job.
        """
        waits = self.in_window.at(self.in_window.last == late)
        # Where others are as late, it saves next to nothing that this one comes in time.
        is_alone = 2 * waits.lead_ns.sum() >= waits.late_ns.sum()
        at_best = waits.late_ns if is_alone else waits.lead_ns
        each = [np.minimum(waits.waiting_ns, by) for by in (at_best, waits.lead_ns)]
        best, worst = (self._shorter(waits, saved_ns) for saved_ns in each)
        if not are_all:
            worst = self._shorter(waits, np.zeros_like(waits.waiting_ns))
        untold = "" if are_all else "a rank whose trace was not given may come later still"
        return replace(best, at_worst=worst, untold=untold)

    def _shorter(self, waits: RankWaits, saved_ns: Rows) -> Edit:
        model = f"the {self.word} that is late arrives with the others"
        if self._on_device:
            return Edit(model, work=waits.rows, work_saved_ns=saved_ns, of_others=True)
        upto = self.trace.start_ns[waits.rows] + waits.waiting_ns
        time = self._exposed(upto - saved_ns, upto)
        return Edit(model, host={main_track(self.trace): time}, of_others=True)


def _longer_at(late: _Rank, number: int, other: _Rank) -> FixPlace | None:
    """Find the line at which the late one spends what it is late by, beyond what another does."""
    more = Counter({at: ns - other.lines[at] for at, ns in late.lines.items()})
    known = {at.file for at in other.lines}  # by another path nothing can be told
    for location, more_ns in more.most_common(1):
        if location.file in known and more_ns >= _MOST_OF_LATE * late.late_ns(number):
            what = f"{late.word} {number} spends {time_text(more_ns)} more of a step"
            return FixPlace(what, location)
    return None


def _place(trace: Trace, work: Event) -> Location | None:
    """Tell where a collective was asked for; its work on the host has no place of its own."""
    if work.location is not None or work.device >= 0:
        return work.location
    asked = launches.by_start(trace, trace.rows_named("c10d::*"))
    at = int(np.searchsorted(trace.start_ns[asked], work.start_ns)) - 1
    return trace.location(int(asked[at])) if at >= 0 else None
