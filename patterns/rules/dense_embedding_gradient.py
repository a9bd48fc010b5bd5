"""TDY605: a gradient as large as the table, of an embedding of which few rows are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from tidy.finding import Severity
from tidy.trace import Capability, Event, Location, Rows, Trace
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import launches, updates
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.made_places import module_made_at
from ..evidence.python.op_names import PRODUCTS
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, Option, word_share

# Operator -> which of its inputs is the number of rows of the table.
_ROWS_AT = {"aten::embedding_dense_backward": 2, "aten::_embedding_bag_dense_backward": 5}
_Key = tuple[Location | None, tuple[int, int]]  # the place of lookups, and dims
_NEARLY_ALL = 0.9  # of what is updated in one call: its time is the table's
# What stays, of what costs as much as there are rows, is that of the rows that were looked up, and
# at worst ten times that: of steps that looked up 1,024 rows of 64 numbers 0.44 (SGD) and 0.18
# (Adam) remained where 20 rows were there for each, and 0.15 and 0.08 where 50 were.
_MOST_LEFT = 10

_GRADIENT = "aten::embedding_dense_backward 390us | float[8, 4], long[8], ={0}, =-1, =False\n"
_UPDATE = under("Optimizer.step#SGD.step", "aten::add_ 390us | float[{0}, 4], float[{0}, 4]")


def _steps(rows: int) -> str:
    return steps(under(FRAME, (_GRADIENT + _UPDATE).replace("{0}", str(rows))))


def _steps_in_one_call(rows: int) -> str:
    """The gradient takes little, and what the optimizer does for all of its tensors much."""
    tensors = f"TensorList[{rows}, 4; 1, 4]"
    update = under("Optimizer.step#SGD.step", f"aten::_foreach_add_ 390us | {tensors}, {tensors}")
    return steps(under(FRAME, _GRADIENT.replace("{0}", str(rows)).replace("390us", "5us") + update))


class DenseEmbeddingGradient(Pattern):
    """The gradient of an embedding has all rows of the table, though few were looked up.

    What it does: It finds tables with twenty times as many rows as a step looks up, or more. The
    time of their gradients, and of what the optimizer does with tensors of their size, has to take
    5 % of the steps, and 0.3 ms for each table.
    Why it costs: A gradient of zeros as large as the table is made in each step, and the optimizer
    reads and writes the whole table, its gradient and its own state.
    Example: `nn.Embedding(1_000_000, 64)` for 128 items of a batch, recorded as

        aten::embedding_dense_backward | float[128, 64], long[128], =1000000
        Optimizer.step#SGD.step
          aten::add_ | float[1000000, 64]

    Instead: Make it with `nn.Embedding(..., sparse=True)` (EmbeddingBag has it, too), and update it
    with SGD, Adagrad or SparseAdam, in a separate optimizer. With momentum or weight decay that is
    another method: rows that were not looked up stay as they are. A table that makes the scores of
    a model as well (tied weights) has a dense gradient anyway.
    Cannot see: What optimizers do on all parameters in one call (`foreach`, `fused`) is in the cost
    only where the table is nearly all of them, and its shape was recorded.
    """

    code = "TDY605"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "make it with sparse=True, and update it with SGD, Adagrad or SparseAdam"
    rows_of_each = Option(
        20,
        "rows of the table for each that is looked up; with ten sparse gradients hardly pay",
        least=1,
    )
    least_us = Option(
        300.0,
        "the twenty operators that update a few rows take as long: sixteen tables of 100,000 rows,"
        " 230 us each, took 390 us each with SparseAdam on an H100",
        least=0.0,
    )
    worth_a_word = word_share(LARGE_INFO, "such gradients and their use")
    examples = (
        Fires("large-table", _steps(4000), events=3, at=AT),
        Fires("by-a-call-for-all", _steps_in_one_call(4000), events=3, at=AT),
        Fires("twenty-rows-of-each", _steps(160), events=3, at=AT),
        Quiet("fewer-rows-of-each", _steps(152)),
        Quiet("as-quick-as-few-rows", _steps(4000).replace("390us", "140us")),
        Quiet("makes-the-scores-too", _steps(4000) + "aten::mm | float[8, 4], float[4, 4000]"),
        Quiet("little", _steps(4000) + steps("aten::mm 90000us", lasts_us=None)),
        Abstains("no-shapes", "aten::embedding_dense_backward"),
    )

    def find(self, trace: Trace) -> Matches:
        found = [
            table
            for row in launches.tree_rows(trace, *_ROWS_AT).tolist()
            if (table := _table(trace.event(row))) is not None
            and table.rows >= self.rows_of_each * table.looked_up
        ]
        if not found:
            return
        multiplied = _multiplied(trace)
        found = [table for table in found if not {table.dims, table.dims[::-1]} & multiplied]
        updates_of = _updates(trace, dict.fromkeys(map(_key, found)))
        for same in loops.parts_in_steps(trace, found, _key, _gradient_of):
            made = np.array([table.gradient.row for table in same])
            rows = np.concatenate([made, updates_of[_key(same[0])]])
            time = trace.time_of(rows)
            is_small = time.total_ns < 1e3 * self.least_us * len(same)
            if is_small or (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            rows_of = f"{same[0].rows:,} rows, of which {same[0].looked_up:,} were looked up"
            what = f"the gradient has {rows_of}"
            yield Match(
                list(map(_gradient_of, same)),
                what,
                rows.tolist(),
                edits.without_ops(trace, list(trace.events(rows.tolist())), "sparse", _left(same)),
                location=same[0].location,
                fix_place=module_made_at(trace, list(map(_gradient_of, same))),
            )


def _left(tables: Sequence[_Lookup]) -> tuple[float, float]:
    """The part of the time that stays with sparse gradients, at best and at worst."""
    looked_up = max(table.looked_up / table.rows for table in tables)
    return looked_up, min(_MOST_LEFT * looked_up, 1.0)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One gradient of a table, whose dims are (rows, width)."""

    gradient: Event
    rows: int
    width: int
    looked_up: int

    @property
    def dims(self) -> tuple[int, int]:
        return self.rows, self.width

    @property
    def location(self) -> Location | None:
        """Return where rows are looked up, or else where the gradient is computed."""
        forward = self.gradient.trace.forward
        above = (forward.get(each.row) for each in (self.gradient, *self.gradient.ancestors()))
        row = next((row for row in above if row is not None), self.gradient.row)
        return self.gradient.trace.location(row)


def _key(table: _Lookup) -> _Key:
    return table.location, table.dims


def _gradient_of(table: _Lookup) -> Event:
    return table.gradient


def _table(gradient: Event) -> _Lookup | None:
    """The table that this is the gradient of; None where inputs do not tell."""
    shapes, values, at = gradient.input_shapes, gradient.concrete_inputs, _ROWS_AT[gradient.name]
    known = len(shapes) > 1 and len(values) > at and is_dims(shapes[0]) and is_dims(shapes[1])
    if not known or not shapes[0] or not str(values[at]).isdecimal():
        return None
    return _Lookup(gradient, int(values[at]), int(shapes[0][-1]), max(prod(shapes[1]), 1))


def _tensors_of(shapes: Sequence[Any]) -> set[tuple[int, ...]]:
    """The dims of tensors that an op works on; of a list of them those that are most of it."""
    found: set[tuple[int, ...]] = {each for each in shapes if is_dims(each)}
    for each in shapes:
        if isinstance(each, tuple) and each and all(map(is_dims, each)):
            sizes = [prod(dims) for dims in each]
            found |= {
                dims
                for dims, size in zip(each, sizes, strict=True)
                if size >= _NEARLY_ALL * sum(sizes)
            }
    return found


def _multiplied(trace: Trace) -> set[tuple[int, ...]]:
    """The dims of what products take: a table too, where it makes a language model's scores."""
    rows = launches.tree_rows(trace, *(PRODUCTS - {"aten::embedding"}))
    distinct = np.unique(trace.inputs_id[rows]).tolist()
    shapes = (trace.inputs.shapes(each) or () for each in distinct)
    return {dims for each in shapes for dims in each if is_dims(dims)}


def _updates(trace: Trace, tables: Iterable[_Key]) -> dict[_Key, Rows]:
    """What optimizers do with tensors of each table's dims, shared by tables of the same dims."""
    rows = updates.ops_of_optimizers(trace)
    distinct, which = np.unique(trace.inputs_id[rows], return_inverse=True)
    shapes = [_tensors_of(trace.inputs.shapes(each) or ()) for each in distinct.tolist()]
    found = dict[_Key, Rows]()
    for alike in places.grouped(tables, itemgetter(1)):
        holds = np.array([alike[0][1] in each for each in shapes], bool)
        own = launches.outermost_rows(trace, rows[holds[which]])
        # Which is of which table the trace does not tell; they take equally long.
        found.update((key, own[at :: len(alike)]) for at, key in enumerate(alike))
    return found
