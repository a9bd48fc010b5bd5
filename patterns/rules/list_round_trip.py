"""TDY409: a tensor that becomes a list of Python, and a tensor again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidy.savings import Edit
from tidy.trace import Capability, Intervals, Trace

from ..base import Pattern
from ..evidence import loops, timing
from ..evidence.round_trips import RoundTrip, round_trips
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..match import Match
from ..option import Option

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

    def find(self, trace: Trace) -> Iterable[Match]:
        found = filter(self._is_long, round_trips(trace, self.farthest_ops))
        for same in loops.Loop(trace).parts(found, lambda trip: trip.made):
            time = Intervals([t.start_ns for t in same], [t.made.end_ns for t in same])
            yield Match(
                [trip.made for trip in same],
                message=f"{same[0].numbers:,} numbers go through Python from tensor to tensor",
                cost=timing.Cost(time, matters=True),
                edit=_as_operators(trace, same, time),
            )

    def _is_long(self, trip: RoundTrip) -> bool:
        fewest = self.fewest_numbers if len(trip.dims) > 1 else self.fewest_in_a_row
        return trip.numbers >= fewest


def _as_operators(trace: Trace, trips: Sequence[RoundTrip], time: Intervals) -> Edit:
    """What Python does between may be no work on the numbers."""
    track = int(trace.track_id[trips[0].made.row])
    return Edit("operators instead", host={track: time}, left=(0.1, 0.8))
