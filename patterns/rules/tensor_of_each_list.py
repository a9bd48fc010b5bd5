"""TDY107: a batch of lists or arrays, each of which becomes a tensor of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from tidy.savings import Edit
from tidy.trace import Capability, Event, Intervals, Trace
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import devices, launches
from ..evidence.fixes.stacked import Stacked, stacked_rounds, time_of_batches
from ..evidence.python import frames, loops, places
from ..evidence.time import timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import Option, word_share

_MADE = "aten::lift_fresh"
_ROUND = ("aten::empty", "aten::to", _MADE, "aten::detach_")  # torch.tensor([...])
# What torch.tensor() of a list takes with PyTorch on a CPU, and for each number in it.
_TENSOR_NS, _NUMBER_NS = 6_500, 130
# One array of all took 0.03 to 0.1 of the time of as many tensors, up to 64 numbers each.
_LEFT_OF_ARRAYS = (0.03, 0.3)
_OF_ARRAYS = "make one array first: torch.from_numpy(numpy.stack(arrays)), .to(dtype) if any"

_LIST = "aten::empty\naten::to | float[{0}]\naten::lift_fresh | float[{0}]\naten::detach_\n"
_ARRAY = "aten::lift_fresh | float[8]\naten::to | float[8]\naten::detach_\n"


def _batch(numbers: int = 8, count: int = 16, more: str = "") -> str:
    return under(FRAME, (_LIST.format(numbers) + more) * count, "aten::stack 20us")


class TensorOfEachList(Pattern):
    """Each list of numbers, or array, becomes a tensor, and then all of them are stacked.

    What it does: It finds `torch.stack` of eight tensors or more, right after as many were made by
    `torch.tensor` of a list or a numpy array of up to 64 numbers each, with nothing done to them
    between. That has to happen in two steps, and to take 2 % of the window in all while no device
    works. What a DataLoader does is left to TDY101.
    Why it costs: To make a tensor of a list takes some microseconds, as long as fifty numbers.
    Example: `torch.stack([torch.tensor(state) for state in states])`, recorded as

        aten::empty  aten::to  aten::lift_fresh  aten::detach_        64 times
        aten::stack

    Instead: Make one tensor of all lists, `torch.tensor(states)`, with the same `dtype=`. Of numpy
    arrays make one array first, `torch.from_numpy(numpy.stack(states))`: `torch.tensor` of a list
    of arrays reads them number by number. Or keep all in one array from the start.
    Cannot see: It needs input shapes. It misses lists that are padded or changed one by one as
    tensors.
    """

    code = "TDY107"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "make one tensor of all lists: torch.tensor(lists), with the same dtype= if any"
    fewest_items = Option(8, "a batch of fewer items is made about as fast one by one", least=2)
    most_numbers = Option(
        64, "of longer lists the numbers take longer than the tensors made of them", least=1
    )
    worth_a_word = word_share(0.02, "such batches")
    examples = (
        Fires("lists", steps(_batch()), events=3, at=AT),
        Quiet("long-lists", steps(_batch(900))),
        Quiet("seven", steps(_batch(count=7))),
        Quiet("once", steps("aten::mm") + _batch()),
        Fires("a-fortieth", steps(_batch(), "aten::mm 6000us", lasts_us=None), events=3, at=AT),
        Quiet("little", steps(_batch(), "aten::mm 90000us", lasts_us=None)),
        Quiet("computed", steps(_batch(more="aten::mul | float[8]\n"))),
        Fires("arrays", steps(under(FRAME, _ARRAY * 16, "aten::stack 20us")), events=3, at=AT),
        Fires(
            "lists-and-arrays-at-one-line",
            steps(_batch(), under(FRAME, _ARRAY * 16, "aten::stack 20us")),
            events=6,
            at=AT,
        ),
        Quiet("views-of-arrays", steps(_batch().replace("aten::detach_", "aten::view"))),
        Quiet("in-a-loader", steps(under(frames.FETCH_ALONE, _batch()))),
        Abstains("no-shapes", steps("aten::lift_fresh\naten::detach_\n" * 16 + "aten::stack")),
    )

    def find(self, trace: Trace) -> Matches:
        for part in loops.Loop(trace).parts(self._batches(trace), lambda batch: batch.stack):
            time = time_of_batches(part) - devices.any_busy(trace)
            if timing.part_of_window(trace, time) >= self.worth_a_word:
                for same in places.grouped(part, lambda batch: _is_of_arrays(batch.stack)):
                    yield _of_one_kind(trace, same)

    def fix_of(self, events: Sequence[Event]) -> str:
        return _OF_ARRAYS if _is_of_arrays(events[0]) else self.fix

    def _batches(self, trace: Trace) -> Iterator[Stacked]:
        for batch in stacked_rounds(trace, _ROUND, self.fewest_items):
            names = batch.names()
            is_list = names.count(_MADE) == 1 and "aten::detach_" in names
            if is_list and 0 < _numbers(batch) <= self.most_numbers:
                yield batch


def _of_one_kind(trace: Trace, batches: Sequence[Stacked]) -> Match:
    """Say what lists, or arrays, become of one line of the source."""
    items = int(np.median([batch.items for batch in batches]))
    stacks, time = [batch.stack for batch in batches], time_of_batches(batches)
    of_arrays = _is_of_arrays(stacks[0])
    said = f"{items} {'arrays' if of_arrays else 'lists'} become tensors one by one, to be stacked"
    return Match(stacks, said, time, _as_one(trace, batches, time, of_arrays=of_arrays))


def _numbers(batch: Stacked) -> int:
    """Tell how many numbers the first list has; 0 where that is not known."""
    made = batch.rounds[0, batch.names().index(_MADE)]
    shapes = batch.stack.trace.event(int(made)).input_shapes
    return prod(shapes[0]) if shapes and is_dims(shapes[0]) else 0


def _is_of_arrays(stack: Event) -> bool:
    """Tell whether the tensors were made of numpy arrays.

    PyTorch wraps an array before it copies it, and fills a new tensor with the numbers of a list.
    """
    trace = stack.trace
    ops = launches.ops_in_no_op(trace, int(trace.track_id[stack.row]))
    at = int(np.searchsorted(ops, stack.row))
    names = [trace.names[number] for number in trace.name_id[ops[max(at - 3, 0) : at]].tolist()]
    return names == [_MADE, "aten::to", "aten::detach_"]


def _as_one(trace: Trace, batches: Sequence[Stacked], time: Intervals, *, of_arrays: bool) -> Edit:
    """One tensor of all; the numbers of lists are looked at one by one all the same."""
    track = int(trace.track_id[batches[0].stack.row])
    if of_arrays:
        return Edit("one array of all", host={track: time}, left=_LEFT_OF_ARRAYS)
    in_numbers = _NUMBER_NS * max(map(_numbers, batches))
    stays = in_numbers / (_TENSOR_NS + in_numbers)
    left = 0.7 * stays, min(1.3 * stays + 0.1, 1.0)
    return Edit("one tensor of all lists", host={track: time}, left=left)
