"""Tensors whose numbers are read into a list of Python, and the tensors made of such lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from tidy.trace import Event, Rows, Trace
from tidy.trace.inputs import is_dims

from .frames import FETCH
from .launches import has_name, ops_in_no_op

# What `tolist()` and `numpy()` call, and what `torch.tensor()` does; a cast may come before it.
_READ = ("aten::resolve_conj", "aten::resolve_neg")
_MADE = ("aten::lift_fresh", "aten::detach_")
_CAST = "aten::to"


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """From a tensor in memory of the CPU that is read to the one that is made of as many numbers.

    Attributes:
        start_ns: when the first is read.
        made: the op that makes the second.
        dims: of both.
    """

    start_ns: int
    made: Event
    dims: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many there are."""
        return prod(self.dims)


def round_trips(trace: Trace, farthest_ops: int) -> Iterator[RoundTrip]:
    """All of them outside of loaders, by start on each thread.

    Args:
        farthest_ops: operators between the list and the tensor.
    """
    reads, made = trace.rows_named(_READ[0]), trace.rows_named(_MADE[0])
    if not len(reads) or not len(made):
        return
    fetching = trace.time_of(trace.rows_named(FETCH))
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


def _trip(trace: Trace, ops: Rows, begin: int, end: int) -> RoundTrip | None:
    read, made = trace.event(int(ops[begin])), trace.event(int(ops[end]))
    dims, again = (e.input_shapes[0] if e.input_shapes else () for e in (read, made))
    around = ops[max(begin - 1, 0) : end + 3]
    if dims != again or not is_dims(dims):
        return None
    if any(len(trace.device_rows_under(row)) for row in around.tolist()):
        return None
    return RoundTrip(read.start_ns, made, dims)


def _calls(trace: Trace, ops: Rows, names: tuple[str, str]) -> Rows:
    """Where among the ops one is followed by a second, or by a cast and the second."""
    is_first, is_second, is_cast = (
        np.append(has_name(trace, name)[trace.name_id[ops]], [False, False])
        for name in (*names, _CAST)
    )
    follows = is_second[1:-1] | (is_cast[1:-1] & is_second[2:])
    found: Rows = np.flatnonzero(is_first[:-2] & follows)
    return found
