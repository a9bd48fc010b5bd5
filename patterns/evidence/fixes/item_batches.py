"""Batches that are put together from items of one tensor or array, or of several, in a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from tidy.trace import Intervals, Rows, Trace

from ..device import devices
from ..python import loops, op_names
from ..time import timing
from .counted_loops import index_of
from .stacked import CAT, Stacked, stacked_rounds, time_of_batches

_TAKES = ("aten::slice", "aten::select", "aten::narrow")
_FROM_ARRAY, _READ = "aten::lift_fresh", "aten::item"
_INDEX_ARITHMETIC = ("aten::add", "aten::sub", "aten::mul")
_CHANGES_DTYPE = ("aten::to", "aten::_to_copy", "aten::clone", "aten::contiguous")
_ROUND = (*op_names.VIEWS, *_INDEX_ARITHMETIC, *_CHANGES_DTYPE, _FROM_ARRAY, _READ)
# `data[i : i + n]` asks a tensor `i` for its number twice, `data[i]` and `items[i]` once.
_READS_OF_A_SLICE = 2


class Limits(NamedTuple):
    """From when on batches are worth a word.

    Attributes:
        fewest_items: of a batch.
        longest_python_us: Python for each item; what takes longer reads or decodes it.
        least_share: of the steps, in batches of one place whose items are parts of one tensor.
        worth_a_word: of the steps, in all of these together, or in other batches of one place.
    """

    fewest_items: int
    longest_python_us: float
    least_share: float
    worth_a_word: float


class ItemBatches(NamedTuple):
    """Batches of one line of the source.

    Attributes:
        batches: of the steps that count, or of what is outside of them.
        time: of putting them together.
        is_of_one: whether all items of each are parts of one tensor or array.
    """

    batches: list[Stacked]
    time: Intervals
    is_of_one: bool


def item_batches(trace: Trace, limits: Limits) -> list[ItemBatches]:
    """Return those that a loop makes again and again while no device works."""
    parts = list(loops.Loop(trace).parts(_batches(trace, limits), lambda each: each[0].stack))
    found = [
        ItemBatches(
            [batch for batch, _ in part],
            time_of_batches([batch for batch, _ in part]),
            all(is_of_one for _, is_of_one in part),
        )
        for part in parts
    ]
    idle = (each.time - devices.any_busy(trace) for each in found)
    shares = [timing.part_of_window(trace, time) for time in idle]
    together = sum(compress(shares, (each.is_of_one for each in found)))
    return [
        each
        for each, share in zip(found, shares, strict=True)
        if share >= (limits.least_share if each.is_of_one else limits.worth_a_word)
        and max(share, together) >= limits.worth_a_word
    ]


def put_together(trace: Trace, limits: Limits) -> Rows:
    """Return the operators that take items of these batches, ascending, but not those of arrays."""
    found = (each for each in item_batches(trace, limits) if each.is_of_one)
    rounds = [batch.rounds.ravel() for each in found for batch in each.batches]
    return np.unique(np.concatenate([np.empty(0, np.int64), *rounds]))


def _batches(trace: Trace, limits: Limits) -> Iterator[tuple[Stacked, bool]]:
    """Yield batches, and whether all items of each are parts of one tensor or array."""
    for batch in stacked_rounds(trace, _ROUND, limits.fewest_items, joins=True):
        names = batch.names()
        takes = [at for at, name in enumerate(names) if name in _TAKES]
        is_one_taken = len(takes) + names.count(_FROM_ARRAY) == 1
        if not is_one_taken or not _is_arithmetic_on_indexes(trace, batch.rounds, names):
            continue
        if takes and not _at_other_places(trace, batch.rounds[:, takes[0]]):
            continue
        if batch.stack.name == CAT and not (
            takes and _are_as_long(trace, batch.rounds[:, takes[0]])
        ):
            continue
        if _python_between_ns(trace, batch.rounds) <= 1000 * limits.longest_python_us:
            yield batch, bool(takes) or names.count(_READ) >= _READS_OF_A_SLICE


def _are_as_long(trace: Trace, takes: Rows) -> bool:
    """Tell whether as many rows are taken each time."""
    lengths = set[int | None]()
    for number in np.unique(trace.inputs_id[takes]).tolist():
        begin, end = (index_of(each) for each in (*trace.inputs.concrete(number), "", "")[2:4])
        lengths.add(end - begin if begin is not None and end is not None else None)
    names = {trace.names[number] for number in trace.name_id[takes].tolist()}
    return names == {"aten::select"} or (
        names == {"aten::slice"} and len(lengths) == 1 and None not in lengths
    )


def _python_between_ns(trace: Trace, table: Rows) -> float:
    """Tell how long Python is between the operators of a round, in most rounds."""
    starts, ends = trace.start_ns[table.ravel()], trace.end_ns[table.ravel()]
    waits = np.append(starts[1:] - ends[:-1], 0).reshape(table.shape)
    return float(np.median(waits.sum(1)))


def _is_arithmetic_on_indexes(trace: Trace, table: Rows, names: Sequence[str]) -> bool:
    """Tell whether what is computed in the rounds is computed of single numbers."""
    columns = [at for at, name in enumerate(names) if name in _INDEX_ARITHMETIC]
    numbers = np.unique(trace.inputs_id[table[:, columns]]).tolist()
    return all(shapes and shapes[0] == () for shapes in map(trace.inputs.shapes, numbers))


def _at_other_places(trace: Trace, takes: Rows) -> bool:
    """Tell whether items are taken along the first dimension of one shape, most at places apart."""
    numbers = trace.inputs_id[takes].tolist()
    values = [trace.inputs.concrete(number) for number in numbers]
    shapes = {trace.inputs.shapes(number)[:1] for number in numbers}
    if len(shapes) != 1 or any(len(each) < 3 or str(each[1]) != "0" for each in values):
        return False
    return 2 * len({str(each[2]) for each in values}) > len(values)
