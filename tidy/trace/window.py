"""The window: the steps that are alike. All figures of a report are of this one time.

The first steps of a run pay for what later ones have: loading libraries and kernels, searching
algorithms, compiling, growing the allocator's pool. A step much longer than the median that holds
such work is left out, and said. So is an epoch's first step, which starts the loader's workers,
unless epochs are short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .event_table import EventTable
from .finished import finished_by_devices
from .first_calls import OF_EPOCHS, ONCE, ONE_OFF_NS, named
from .intervals import Intervals
from .kinds import EventKind
from .steps import Step, steps_between
from .units import count_text, time_text

# A step this much longer than the median is unlike the others.
_UNLIKE = 1.5
# So many steps make one that is this much longer than the median an exception.
_MANY_STEPS = 6
_FAR_UNLIKE = 2.5
# What takes this much of a step in most of the steps does not happen once.
_RECURS = 0.1
# So much of what a first step takes longer is worth naming.
_PART_OF_MORE = 0.1
# So often something has to begin for its beginnings to be rounds, and with so much of the work.
_FEWEST_ROUNDS, _MOST_OF_RUN = 3, 0.5
_MOST_RANGES = 6  # of numbers of steps in a message


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Time that no share counts, and why: `reason` is what a report says after its length."""

    label: str
    start_ns: int
    end_ns: int
    reason: str
    step: Step | None = None

    @property
    def time_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns


Judged = tuple[Step, tuple[int, int], str]  # a step, its time, and why it is left out, or ""


@dataclass(frozen=True)
class Window:
    """The time that counts.

    Where the host runs ahead of the devices a step lasts until they have finished its work.

    Attributes:
        steps: those that count, by start, as the host runs them; empty where none were found.
        time: of these steps, or without steps of the run.
        left_out: what does not count, by start.
        unit: "step", "round" or "run": what the figures are of.
        finished: start and end of each of these steps, as devices finish them, where they are
            behind; None where each is as the host runs it.
        others: the time of other steps than the one that was asked for.
    """

    steps: tuple[Step, ...]
    time: Intervals
    left_out: tuple[LeftOut, ...]
    unit: str
    finished: tuple[tuple[int, int], ...] | None = None
    others: Intervals = field(default_factory=Intervals)

    @classmethod
    def of_steps(cls, unit: str, judged: Sequence[Judged], *, are_behind: bool) -> Window:
        """Return the window of the steps that are not left out; `are_behind` tells if
        devices are.
        """
        kept = [(step, lasts) for step, lasts, reason in judged if not reason]
        left_out = [each for each in judged if each[2]]
        time = _time_of(lasts for _, lasts in kept) - _time_of(lasts for _, lasts, _ in left_out)
        return cls(
            tuple(step for step, _ in kept),
            time,
            tuple(LeftOut(f"{unit} {s.number}", *lasts, why, s) for s, lasts, why in left_out),
            unit,
            tuple(lasts for _, lasts in kept) if are_behind else None,
        )

    def __repr__(self) -> str:
        what = count_text(len(self.steps), self.unit) if self.steps else f"the {self.unit}"
        out = f", {len(self.left_out):,} left out" if self.left_out else ""
        return f"<Window: {what}, {time_text(self.time_ns)} together{out}>"

    @property
    def whole(self) -> str:
        """What a share is of, for sentences: "the steps", "the rounds" or "the run"."""
        return "the run" if self.unit == "run" else f"the {self.unit}s"

    @property
    def start_ns(self) -> int:
        """Where it begins; 0 for an empty one."""
        return int(self.time.starts_ns[0]) if len(self.time) else 0

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return int(self.time.ends_ns[-1]) if len(self.time) else 0

    @property
    def step_ranges(self) -> list[tuple[int, int]]:
        """Start and end of each step that counts, as the host runs it."""
        return [(step.start_ns, step.end_ns) for step in self.steps]

    @property
    def finished_ranges(self) -> list[tuple[int, int]]:
        """Start and end of each step that counts, as devices finish it where they are behind."""
        return self.step_ranges if self.finished is None else list(self.finished)

    @cached_property
    def time_ns(self) -> int:
        """Its length without what is left out in between."""
        return self.time.total_ns

    @property
    def step_count(self) -> int:
        """How many steps its figures are divided by: 1 where none were found."""
        return max(len(self.steps), 1)

    @property
    def step_ns(self) -> int:
        """How long a step takes, in the mean; without steps the run."""
        return round(self.time_ns / self.step_count)

    def without(self, ranges: Set[tuple[int, int]], reason: str) -> Window:
        """Return the window without the steps that start and end so."""
        judged = [
            (step, lasts, why or (reason if (step.start_ns, step.end_ns) in ranges else ""))
            for step, lasts, why in self.all_steps
        ]
        if not judged:  # a run has no steps
            return self
        made = Window.of_steps(self.unit, judged, are_behind=self.finished is not None)
        return replace(made, others=self.others)

    def only(self, which: str) -> Window:
        """Return the window of one step alone: that of a number, or the slowest of those that
        count.

        Raises:
            ValueError: there is no such step; the message says which there are.
        """
        all_ = self.all_steps
        if which == "slowest":
            counting = (each for each in all_ if not each[2])
            chosen = max(counting, key=lambda each: each[1][1] - each[1][0], default=None)
        else:
            chosen = next((each for each in all_ if str(each[0].number) == which), None)
        if chosen is None:
            raise ValueError(self.steps_text)
        judged = [(*each[:2], "" if each is chosen else "not asked for") for each in all_]
        made = Window.of_steps(self.unit, judged, are_behind=self.finished is not None)
        others = _time_of(lasts for _, lasts, reason in judged if reason)
        return replace(made, time=_time_of([chosen[1]]), others=others)

    @property
    def steps_text(self) -> str:
        """Which steps there are: `steps 0 to 1 and 5 to 9`, or `no steps`."""
        numbers = np.unique([step.number for step, _, _ in self.all_steps]).astype(np.int64)
        if not len(numbers):
            return "no steps"
        pieces = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
        ranges = [f"{each[0]} to {each[-1]}" if len(each) > 1 else f"{each[0]}" for each in pieces]
        if len(ranges) > _MOST_RANGES:
            ranges = [f"{numbers[0]} to {numbers[-1]}, with gaps"]
        *most, last = ranges
        unit = self.unit if len(numbers) == 1 else f"{self.unit}s"
        return f"{unit} {', '.join(most)}{' and ' if most else ''}{last}"

    @property
    def all_steps(self) -> list[Judged]:
        """All steps by start, with their time and the reason why one does not count, or ""."""
        counting = [(*each, "") for each in zip(self.steps, self.finished_ranges, strict=True)]
        others = [(x.step, (x.start_ns, x.end_ns), x.reason) for x in self.left_out if x.step]
        return sorted(counting + others, key=lambda each: each[0].start_ns)


def _time_of(ranges: Iterable[tuple[int, int]]) -> Intervals:
    return Intervals(*np.array(list(ranges), np.int64).reshape(-1, 2).T)


def find_window(trace: EventTable, marked: tuple[Step, ...], first: dict[int, str]) -> Window:
    """Return the steps that are alike, else rounds that repeat, else the run between its device
    work.

    Steps that were marked in the recording go before others; `first` are its first calls.
    """
    unit, steps = ("step", marked) if marked else ("round", _rounds(trace))
    if not steps:
        return _of_run(trace, first)
    finished = finished_by_devices(trace, steps)
    ranges = finished or [(step.start_ns, step.end_ns) for step in steps]
    lengths = [end_ns - start_ns for start_ns, end_ns in ranges]
    empty = _empty_steps(trace, steps)
    usual = sorted(each for each, is_empty in zip(lengths, empty, strict=True) if not is_empty)
    # Of two steps the shorter one is the better guess at what the others are like.
    usual_ns = usual[(len(usual) - 1) // 2]
    reasons = ["nothing ran on a device in it" if is_empty else "" for is_empty in empty]
    long = [n for n, length_ns in enumerate(lengths) if length_ns > _UNLIKE * usual_ns]
    once = _Once(trace, steps, first)
    for n in long:
        is_first = n == 0 and len(usual) > 2
        longer_ns = lengths[n] - usual_ns
        reasons[n] = once.why_longer(steps[n], longer_ns, usual_ns, is_first=is_first)
    # One long step among many is no part of what the others are; of two one cannot say that.
    odd = [n for n in long if not reasons[n]]
    if len(odd) == 1 and len(steps) >= _MANY_STEPS and lengths[odd[0]] > _FAR_UNLIKE * usual_ns:
        reasons[odd[0]] = f"the only one of its length, others take {time_text(usual_ns)}"
    judged = list(zip(steps, ranges, reasons, strict=True))
    return Window.of_steps(unit, judged, are_behind=finished is not None)


def _empty_steps(trace: EventTable, steps: tuple[Step, ...]) -> list[bool]:
    """Which steps are short and launch nothing, while others do: a recording was cut in them."""
    launched = np.sort(trace.launched_ns(trace.device_rows), kind="stable")
    bounds = np.searchsorted(launched, [(s.start_ns, s.end_ns) for s in steps])
    counts = bounds[:, 1] - bounds[:, 0]
    lengths = np.array([step.duration_ns for step in steps])
    full_ns = np.median(lengths[counts > 0]) if (counts > 0).any() else 0
    empty: list[bool] = ((counts == 0) & (lengths < full_ns / 2)).tolist()
    return empty


class _Once:
    """What happens once in a step and makes it longer."""

    def __init__(self, trace: EventTable, steps: tuple[Step, ...], first: dict[int, str]) -> None:
        self._trace, self._steps, self._first = trace, steps, first

    @cached_property
    def _names(self) -> list[tuple[str, NDArray[np.bool_]]]:
        names = [(words, named(self._trace, pattern)) for words, pattern in ONCE]
        return [(words, which) for words, which in names if not self._recurs(words, which)]

    def _recurs(self, words: str, names: NDArray[np.bool_]) -> bool:
        """Whether much of most steps is in what has these names: they have it in common.

        Where every fourth step or more starts workers, it is what short epochs cost.
        """
        trace = self._trace
        starts, ends = np.array([(s.start_ns, s.end_ns) for s in self._steps], np.int64).T
        rows = np.flatnonzero(names[trace.name_id])
        spent_ns = trace.time_of(rows).covered_ns(starts, ends)
        often = int(np.count_nonzero(spent_ns > _RECURS * (ends - starts)))
        return 4 * often >= len(starts) if words == OF_EPOCHS else 2 * often > len(starts)

    def why_longer(self, step: Step, longer_ns: int, usual_ns: int, *, is_first: bool) -> str:
        """Say why a step is longer than usual by so much; "" where nothing tells."""
        trace = self._trace
        rows = trace.rows_within(step.start_ns, step.end_ns)
        told = [(0, "")]
        first = rows[np.isin(rows, list(self._first))]
        for words, names in self._names:
            own = rows[names[trace.name_id[rows]]]
            first = first[~names[trace.name_id[first]]]
            told.append((trace.time_of(own).total_ns, words))
        told.append((trace.time_of(first).total_ns, "first launches"))
        spent_ns, words = max(told)
        because = f"{time_text(spent_ns)} of it in {words}"
        if 2 * sum(each for each, _ in told) >= longer_ns:
            return because
        if not is_first:
            return ""
        # Much of a first step, such as imports, leaves nothing in a recording.
        known = f", {because}" if spent_ns >= _PART_OF_MORE * longer_ns else ""
        return f"the first one recorded{known}, others take {time_text(usual_ns)}"


def _rounds(trace: EventTable) -> tuple[Step, ...]:
    """Times between the beginnings of what repeats: the outermost module, or a graph's launch."""
    names, count = trace.names, trace.tree_count
    is_module = np.array([name.startswith("nn.Module: ") for name in names] or [False])
    rows = np.flatnonzero(is_module[trace.name_id[:count]])
    before = np.append(-1, np.maximum.accumulate(trace.subtree_end[rows]))[: len(rows)]
    outermost = rows[rows >= before]
    starts = np.sort(trace.start_ns[outermost])
    # What goes on after a cut of the recording has begun before it.
    at = np.searchsorted(starts, trace.info.cut_modules_ns)
    outermost = outermost[~np.isin(trace.start_ns[outermost], np.append(starts, -1)[at])]
    for candidates in (outermost, trace.rows_named("cudaGraphLaunch", "hipGraphLaunch")):
        used, counts = np.unique(trace.name_id[candidates], return_counts=True)
        if len(used) and counts.max() >= _FEWEST_ROUNDS:
            mine = candidates[trace.name_id[candidates] == used[counts.argmax()]]
            rounds = steps_between(np.sort(trace.start_ns[mine]).tolist())
            return rounds if _part_in(trace, rounds) >= _MOST_OF_RUN else ()
    return ()


def _part_in(trace: EventTable, rounds: tuple[Step, ...]) -> float:
    """The part of all device work that is launched in rounds; without a device, of the ops."""
    rows = trace.device_rows
    if len(rows):
        at_ns, lasts_ns = trace.launched_ns(rows), trace.duration_ns[rows]
    else:
        rows = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
        at_ns, lasts_ns = trace.start_ns[rows], trace.self_ns[rows]
    if not rounds or not lasts_ns.any():
        return float(bool(rounds))
    inside = (at_ns >= rounds[0].start_ns) & (at_ns < rounds[-1].end_ns)
    return float(lasts_ns[inside].sum(dtype=np.float64) / lasts_ns.sum(dtype=np.float64))


def _of_run(trace: EventTable, first: dict[int, str]) -> Window:
    """From the operator that launched the first device work to the end of the last, or of its own.

    Long calls that happen once are left out.
    """
    rows = trace.device_rows
    if not len(rows):
        start_ns = trace.start_ns_first
        return Window((), Intervals([start_ns], [start_ns + trace.span_ns]), (), "run")
    ends = rows[[0, -1]]
    ops = trace.launching_ops(ends)
    begin, end = np.where((ops >= 0) & (trace.kind[ops] == EventKind.TorchOp), ops, ends)
    start_ns = min(trace.start_ns[rows].min(), trace.start_ns[begin])
    end_ns = max(trace.end_ns[rows].max(), trace.end_ns[end])
    time = Intervals([start_ns], [end_ns])
    if not len(time):
        return Window((), time, (), "run")
    # Some tell by their names that they happen once.
    calls = trace.rows_of_kind(EventKind.Runtime)
    calls = calls[trace.duration_ns[calls] > ONE_OFF_NS]
    calls = calls[named(trace, "|".join(pattern for _, pattern in ONCE))[trace.name_id[calls]]]
    reasons = dict.fromkeys(calls.tolist(), "made once in a run") | first
    rows = np.array(sorted(reasons, key=trace.start_ns.__getitem__), np.int64)
    rows = rows[(trace.start_ns[rows] >= start_ns) & (trace.end_ns[rows] <= end_ns)]
    rows = rows[trace.end_ns[rows] > np.append(0, np.maximum.accumulate(trace.end_ns[rows]))[:-1]]
    left_out = tuple(
        LeftOut(
            trace.names[trace.name_id[row]],
            int(trace.start_ns[row]),
            int(trace.end_ns[row]),
            reasons[row],
        )
        for row in rows.tolist()
    )
    return Window((), time - trace.time_of(rows), left_out, "run")
