"""The step that a time is in, and what repeats: in the steps of a trace, or in a sequence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidy.trace import Event, EventKind, Intervals, Trace
from tidy.trace.intervals import latest_before
from tidy.trace.kept import kept

from .places import by_window, grouped, place_of

T = TypeVar("T")
# What happens in fewer steps (without steps, in fewer rounds of work) is no loop: it may be how a
# script begins, a validation, or a batch of a new shape.
FEWEST_STEPS, _FEWEST_ROUNDS = 2, 3
# What is usual is done in so many of the steps: a script may begin otherwise, and every second step
# is now and then.
_MOST_STEPS, _FEWEST_OF_MOST = 2 / 3, 3
# What is between two ops of a loop is its own Python, unless it takes longer than this.
_LONGEST_PYTHON_NS = 50_000


def step_of(trace: Trace, times_ns: ArrayLike) -> NDArray[np.int64]:
    """Return for each time the index in `trace.steps` of the step it is in, -1 for none."""
    times = np.asarray(times_ns, np.int64)
    starts, ends = _edges(trace)
    if not len(starts):
        return np.full(times.shape, -1, np.int64)
    at = np.searchsorted(starts, times, side="right") - 1
    return np.where((at >= 0) & (times < ends[at]), at, -1)


@kept
def _edges(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When the steps of a trace start and end."""
    edges = np.array([(step.start_ns, step.end_ns) for step in trace.steps], np.int64)
    starts, ends = edges.reshape(-1, 2).T
    return starts, ends


def count_begun(trace: Trace, start_ns: int, end_ns: int) -> int:
    """Count how many steps begin in [start, end)."""
    first, last = np.searchsorted(_edges(trace)[0], (start_ns, end_ns))
    return int(last - first)


def count_steps(trace: Trace, times_ns: ArrayLike) -> int:
    """In how many steps at least one of these times is."""
    steps = step_of(trace, times_ns)
    return len(np.unique(steps[steps >= 0]))


def are_most_steps(trace: Trace, count: int) -> bool:
    """Tell whether so many steps are two thirds of all, and three at least."""
    return count >= max(_FEWEST_OF_MOST, _MOST_STEPS * len(trace.steps))


def steps_with(trace: Trace, times_ns: ArrayLike, fewest: int) -> dict[int, int]:
    """Return the steps that at least so many of these times are in, and how many each has."""
    steps = step_of(trace, times_ns)
    numbers, counts = np.unique(steps[steps >= 0], return_counts=True)
    enough = counts >= fewest
    return dict(zip(numbers[enough].tolist(), counts[enough].tolist(), strict=True))


def parts_in_steps(
    trace: Trace,
    items: Iterable[T],
    key: Callable[[T], Hashable],
    event_of: Callable[[T], Event] | None = None,
) -> Iterator[list[T]]:
    """As `places.parts`, of what with one key is in enough steps to be no exception."""
    for same in grouped(items, key):
        events = cast("list[Event]", same) if event_of is None else map(event_of, same)
        if count_steps(trace, [event.start_ns for event in events]) >= FEWEST_STEPS:
            yield from by_window(same, event_of)


class Loop:
    """All that repeats in a trace: in its steps or, where it has none, in rounds of work.

    A launch of a kernel ends a round. What happens many times before any kernel is launched, such
    as a model that moves to the device one parameter after the other, happens in a single round.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def repeated(self, times_ns: ArrayLike, enough: int | None = None) -> list[bool]:
        """Tell for each time whether it belongs to something that repeats.

        No time does where all of them are in too few steps or rounds. Where the trace has steps, a
        time outside of them does not either.

        Args:
            enough: so many times count as repeated, also within one step.
        """
        times = np.asarray(times_ns, np.int64)
        if self._trace.steps:
            inside = step_of(self._trace, times) >= 0
            repeats = count_steps(self._trace, times) >= FEWEST_STEPS
        else:
            inside = np.ones(times.shape, bool)
            rounds = np.searchsorted(self._launches_ns, times)
            repeats = len(np.unique(rounds)) >= _FEWEST_ROUNDS
        repeats = repeats or (enough is not None and int(inside.sum()) >= enough)
        return [bool(each) and repeats for each in inside]

    def by_place(
        self, items: Iterable[T], event_of: Callable[[T], Event], enough: int | None = None
    ) -> Iterator[list[T]]:
        """Yield what repeats, for each place of the source where something does.

        Args:
            event_of: gives the event that tells where and when an item is.
            enough: as for `repeated`.
        """
        for group in grouped(items, lambda item: place_of(event_of(item))):
            repeats = self.repeated([event_of(item).start_ns for item in group], enough)
            if any(repeats):
                yield list(compress(group, repeats))

    def parts(
        self, items: Iterable[T], event_of: Callable[[T], Event], enough: int | None = None
    ) -> Iterator[list[T]]:
        """As `by_place`; what the window leaves out is a group of its own."""
        for same in self.by_place(items, event_of, enough):
            yield from by_window(same, event_of)

    @cached_property
    def _launches_ns(self) -> NDArray[np.int64]:
        """Return the times at which kernels were launched, sorted."""
        trace = self._trace
        kernels = trace.rows_of_kind(EventKind.Kernel)
        calls = trace.caller[kernels]
        return np.sort(trace.start_ns[np.where(calls >= 0, calls, kernels)], kind="stable")


def time_of_rounds(trace: Trace, loops: Iterable[NDArray[np.int64]]) -> Intervals:
    """Return the time of loops, given the ops of each by start, their Python between ops
    included.
    """
    each = list(loops)
    rows = np.concatenate(each)
    group = np.repeat(np.arange(len(each)), [len(own) for own in each])
    lasts = trace.duration_ns[rows] > 0
    rows, group = rows[lasts], group[lasts]
    order = np.lexsort((trace.start_ns[rows], group))
    starts, ends = trace.start_ns[rows[order]], trace.end_ns[rows[order]]
    before = latest_before(group[order], ends)
    # Before the first of a loop there is no gap.
    is_gap = (before > np.iinfo(np.int64).min) & (starts - before <= _LONGEST_PYTHON_NS)
    return Intervals(np.append(starts, before[is_gap]), np.append(ends, starts[is_gap]))


def further_rounds(
    values: NDArray[np.int64],
    places: Mapping[int, NDArray[np.int64]],
    body: Sequence[int],
    taken: NDArray[np.bool_],
) -> Iterator[tuple[int, int]]:
    """Stretches [first, last) of two rounds of a loop's body or more, of elements not yet taken.

    Args:
        places: where each of the values is, ascending.
    """
    period = len(body)
    rarest = min(range(period), key=lambda at: len(places[body[at]]))
    rounds = places[body[rarest]] - rarest
    rounds = rounds[(rounds >= 0) & (rounds <= len(values) - period)]
    rounds = rounds[~taken[rounds]]
    for at, name in enumerate(body):
        rounds = rounds[values[rounds + at] == name]
    for run in np.split(rounds, np.flatnonzero(np.diff(rounds) != period) + 1):
        if len(run) > 1:
            yield int(run[0]), int(run[-1]) + period


def begin_of_rounds(trace: Trace, rows: NDArray[np.int64], period: int, name_id: int) -> int:
    """Return which operator of this name rounds begin with: at their first line, if all have one.

    What comes before a loop may end as its rounds do: what repeats then begins in mid-round.

    Args:
        rows: operators of a loop by start, of which `period` make a round.
    """
    middle = len(rows) // period // 2 * period
    at = np.flatnonzero(trace.name_id[rows[middle : middle + period]] == name_id).tolist()
    locations = [trace.location(int(rows[middle + each])) for each in at]
    lines = [each.line for each in locations if each is not None and each.is_call_line]
    functions = {(each.file, each.function) for each in locations if each is not None}
    if len(lines) < len(at) or len(functions) > 1:
        return int(at[0])
    begins = (each for each, line in enumerate(lines) if min(lines) == line != lines[each - 1])
    return int(at[next(begins, 0)])


def whole_rounds(trace: Trace, rows: NDArray[np.int64], period: int) -> NDArray[np.int64]:
    """Return the whole rounds of what repeats, or all of it where they cannot be told.

    Operators before and after a loop may be as in its rounds, but other lines call them.
    """
    before = after = 0
    while before < period and _at_other_lines(trace, rows[before], rows[before + period]):
        before += 1
    while after < period and _at_other_lines(trace, rows[-1 - after], rows[-1 - after - period]):
        after += 1
    own = rows[before : len(rows) - after]
    return own if len(own) % period == 0 else rows


def _at_other_lines(trace: Trace, one: int, other: int) -> bool:
    return trace.location(int(one)) != trace.location(int(other))


def index_changes(
    trace: Trace, selects: NDArray[np.int64], slots: int, fewest_rounds: int
) -> bool | None:
    """Tell whether so many rounds select something else; None where inputs were not recorded."""
    walked = set()
    for at in range(0, len(selects), slots):
        numbers = trace.inputs_id[selects[at : at + slots]].tolist()
        index = [trace.inputs.concrete(each)[1:3] for each in numbers]
        if not all(index):
            return None
        walked.add(tuple(index))
        if len(walked) >= fewest_rounds:
            return True
    return False


def repeated_runs(
    sequence: ArrayLike, longest_period: int, fewest_rounds: int
) -> Iterator[tuple[int, int, int]]:
    """Longest stretches [first, last) in which each element equals the one `period` before it.

    A stretch has at least `fewest_rounds` rounds, of which the last may be incomplete. Each element
    belongs to one stretch at most, that of the shortest period: of another it is left out, if that
    is less than a period at each of its ends. Takes time linear in `len(sequence) *
    longest_period`.

    Yields:
        (first, last, period), shorter periods first.
    """
    values = np.asarray(sequence)
    taken = np.zeros(len(values) + 1, bool)
    for period in range(1, longest_period + 1):
        if len(values) <= period * (fewest_rounds - 1):
            return
        same = np.zeros(len(values) - period + 2, bool)
        same[1:-1] = values[period:] == values[:-period]
        edges = np.flatnonzero(same[1:] != same[:-1])
        firsts, lasts = edges[::2], edges[1::2] + period
        long_enough = lasts - firsts > period * (fewest_rounds - 1)
        for begin, end in np.stack([firsts, lasts], 1)[long_enough].tolist():
            # Where two loops follow each other, one may end as the rounds of the other do.
            first = begin + int(taken[begin : begin + period].argmin())
            last = end - int(taken[end - period : end][::-1].argmin())
            is_long = last - first > period * (fewest_rounds - 1)
            if is_long and not taken[first:last].any():
                taken[first:last] = True
                yield first, last, period
