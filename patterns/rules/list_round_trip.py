"""TDY409: a tensor that becomes a list of Python, and a tensor again."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from tidy.savings import Edit
from tidy.trace import Capability, Event, Intervals, Rows, Trace
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device.launches import has_name, ops_in_no_op
from ..evidence.python import frames, loops
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..option import Option

# What `tolist()` and `numpy()` call, and what `torch.tensor()` does; a cast may come before it.
_READ = ("aten::resolve_conj", "aten::resolve_neg")
_MADE = ("aten::lift_fresh", "aten::detach_")
_CAST = "aten::to"

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
        1000, "a shorter row of as many numbers may be what environments answer to actions"
    )
    farthest_ops = Option(
        8, "operators that may be called between the list and the tensor, and on their result"
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

    def find(self, trace: Trace) -> Matches:
        found = filter(self._is_long, _round_trips(trace, self.farthest_ops))
        for same in loops.Loop(trace).parts(found, lambda trip: trip.made):
            track = int(trace.track_id[same[0].made.row])
            time = Intervals([t.start_ns for t in same], [t.made.end_ns for t in same])
            said = f"{prod(same[0].dims):,} numbers go through Python from tensor to tensor"
            # Some of the Python in between may be no work on the numbers.
            edit = Edit("operators instead", host={track: time}, left=(0.1, 0.8))
            yield Match([trip.made for trip in same], said, time, edit)

    def _is_long(self, trip: _RoundTrip) -> bool:
        fewest = self.fewest_numbers if len(trip.dims) > 1 else self.fewest_in_a_row
        return prod(trip.dims) >= fewest


class _RoundTrip(NamedTuple):
    """From when a tensor in memory of the CPU is read to the op that makes one of its numbers."""

    start_ns: int
    made: Event
    dims: tuple[int, ...]


def _round_trips(trace: Trace, farthest_ops: int) -> Iterator[_RoundTrip]:
    """All of them outside of loaders, by start on each thread."""
    reads, made = trace.rows_named(_READ[0]), trace.rows_named(_MADE[0])
    if not len(reads) or not len(made):
        return
    fetching = trace.time_of(trace.rows_named(frames.FETCH))
    for track in np.intersect1d(trace.track_id[reads], trace.track_id[made]).tolist():
        ops = ops_in_no_op(trace, track)
        ops = ops[~fetching.contains(trace.start_ns[ops])]
        begins, ends = (_calls(trace, ops, names) for names in (_READ, _MADE))
        at = np.searchsorted(ends, begins, side="right")
        for begin, number in zip(begins.tolist(), at.tolist(), strict=True):
            if number < len(ends) and ends[number] - begin <= farthest_ops:
                found = _trip(trace, ops, begin, int(ends[number]))
                if found is not None:
                    yield found


def _trip(trace: Trace, ops: Rows, begin: int, end: int) -> _RoundTrip | None:
    read, made = trace.event(int(ops[begin])), trace.event(int(ops[end]))
    dims, again = (e.input_shapes[0] if e.input_shapes else () for e in (read, made))
    around = ops[max(begin - 1, 0) : end + 3].tolist()
    fits = dims == again and is_dims(dims)
    if not fits or any(len(trace.device_rows_under(row)) for row in around):
        return None
    return _RoundTrip(read.start_ns, made, dims)


def _calls(trace: Trace, ops: Rows, names: tuple[str, str]) -> Rows:
    """Tell where among the ops one is followed by a second, or by a cast and the second."""
    is_first, is_second, is_cast = (
        np.append(has_name(trace, name)[trace.name_id[ops]], [False, False])
        for name in (*names, _CAST)
    )
    follows = is_second[1:-1] | (is_cast[1:-1] & is_second[2:])
    found: Rows = np.flatnonzero(is_first[:-2] & follows)
    return found
