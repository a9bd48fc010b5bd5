"""TDY409: a tensor that becomes a list of Python, and a tensor again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding
from tidy.replay import Edit
from tidy.trace import Capability, Event, Intervals, Trace
from tidy.trace.inputs import is_dims

from ..base import Pattern
from ..evidence import frames, launches, loops, places, timing
from ..evidence.launches import Rows
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..option import Option

_READ = ("aten::resolve_conj", "aten::resolve_neg")
_MADE = ("aten::lift_fresh", "aten::detach_")

_LIST = "aten::resolve_conj | float[64, 8]\naten::resolve_neg | float[64, 8]\n"
_TENSOR = "aten::to | float[64, 8]\naten::lift_fresh | float[64, 8]\naten::detach_ | float[64, 8]\n"
_PYTHON = "python 200us\n"


class ListRoundTrip(Pattern):
    """The numbers of a tensor go through Python, one by one, and back into a tensor.

    What it does: It finds tensors in memory of the CPU whose numbers `tolist()` or `numpy()` reads,
    and right after it `torch.tensor()` of as many numbers in the same shape, from 16 on (of one
    dimension: 1000), in two steps at one place.
    Why it costs: Python makes an object of each number, works on them one by one, and PyTorch looks
    at each again.
    Example: `torch.tensor([v * 2 for v in values.tolist()])`, recorded as

        aten::resolve_conj  aten::resolve_neg         tolist()
        aten::to  aten::lift_fresh  aten::detach_     torch.tensor()

    Instead: Write it as operators on the tensor; where numpy has to do it, `torch.from_numpy()` of
    its result copies nothing.
    Cannot see: It needs input shapes. Tensors on a GPU are TDY202 and TDY301; lists of another
    length than the tensor are missed.
    """

    code = "TDY409"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "compute with operators on the tensor, or torch.from_numpy() of numpy's result"
    fewest_numbers = Option(16, "fewer numbers are sizes and flags")
    fewest_in_a_row = Option(
        1000,
        "a row of numbers as long as another may be something else: what environments answer"
        " to as many actions",
    )
    farthest_ops = Option(
        8,
        "operators that may be called between the list and the tensor, and on their result",
    )
    examples = (
        Fires("list", steps(under(FRAME, _LIST, _PYTHON, _TENSOR)), events=3, at=AT),
        Quiet("once", steps("aten::mm | float[64, 8], float[8, 8]") + _LIST + _TENSOR),
        Quiet("from-numpy", steps(_LIST, "aten::lift_fresh | float[64, 8]", "aten::add")),
        Quiet("other-shape", steps(_LIST, _TENSOR.replace("64, 8", "32, 8"))),
        Quiet("few-numbers", steps(joined(_LIST, _TENSOR).replace("64, 8", "3"))),
        Quiet("a-row", steps(joined(_LIST, _TENSOR).replace("64, 8", "64"))),
        Quiet("a-new-tensor", steps(_TENSOR)),
        Abstains("no-shapes", "aten::resolve_conj\naten::lift_fresh"),
    )

    def check(self, trace: Trace) -> Iterable[Finding]:
        trips = loops.Loop(trace).by_place(self._trips(trace), lambda trip: trip.made)
        for same in (p for trips_ in trips for p in places.by_window(trips_, lambda t: t.made)):
            time = Intervals([t.start_ns for t in same], [t.made.end_ns for t in same])
            yield self.report(
                trace,
                [trip.made for trip in same],
                message=f"{same[0].numbers:,} numbers go through Python from tensor to tensor",
                cost=timing.Cost(time, matters=True),
                edit=_as_operators(trace, same, time),
            )

    def _trips(self, trace: Trace) -> Iterator[_Trip]:
        reads = trace.rows_named(_READ[0])
        made = trace.rows_named(_MADE[0])
        if not len(reads) or not len(made):
            return
        fetching = trace.time_of(trace.rows_named(frames.FETCH))
        is_cast = launches.has_name(trace, "aten::to")
        is_read, is_made = (
            [launches.has_name(trace, name) for name in both] for both in (_READ, _MADE)
        )
        for track in np.intersect1d(trace.track_id[reads], trace.track_id[made]).tolist():
            ops = launches.ops_in_no_op(trace, track)
            ops = ops[~fetching.contains(trace.start_ns[ops])]
            names = trace.name_id[ops]
            begins, ends = (
                _followed(first[names], second[names], is_cast[names])
                for first, second in (is_read, is_made)
            )
            at = np.searchsorted(ends, begins, side="right")
            for begin, number in zip(begins.tolist(), at.tolist(), strict=True):
                if number < len(ends) and ends[number] - begin <= self.farthest_ops:
                    trip = self._trip(trace, ops, begin, int(ends[number]))
                    if trip is not None:
                        yield trip

    def _trip(self, trace: Trace, ops: Rows, begin: int, end: int) -> _Trip | None:
        read, made = trace.event(int(ops[begin])), trace.event(int(ops[end]))
        dims, again = (e.input_shapes[0] if e.input_shapes else () for e in (read, made))
        numbers = int(np.prod(dims)) if is_dims(dims) else 0
        fewest = self.fewest_numbers if len(dims) > 1 else self.fewest_in_a_row
        if dims != again or numbers < fewest:
            return None
        around = ops[max(begin - 1, 0) : end + 3]
        if any(len(trace.device_rows_under(row)) for row in around.tolist()):
            return None
        return _Trip(read.start_ns, made, numbers)


@dataclass(frozen=True, slots=True)
class _Trip:
    """From the tensor that is read to the one that is made."""

    start_ns: int
    made: Event
    numbers: int


def _as_operators(trace: Trace, trips: Sequence[_Trip], time: Intervals) -> Edit:
    """What Python does between may be no work on the numbers."""
    track = int(trace.track_id[trips[0].made.row])
    return Edit("operators instead", host={track: time}, left=(0.1, 0.8))


def _followed(
    is_first: NDArray[np.bool_], is_second: NDArray[np.bool_], is_cast: NDArray[np.bool_]
) -> Rows:
    """Where an operator is followed by a second one, or by a cast and the second."""
    next_is_second, next_is_cast = np.append(is_second[1:], False), np.append(is_cast[1:], False)
    follows = next_is_second | (next_is_cast & np.append(next_is_second[1:], False))
    found: Rows = np.flatnonzero(is_first & follows)
    return found
