"""What the steps of a trace are made of: operators, work of devices, and Python, each by its place.

An operator counts with the time that is its own, without that of the operators in it, so that rows
add up; a kernel with the time on its device. The Python code of a function is one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..account.places import Places
from ..trace import EventKind, Location, Rows, Trace

OP, KERNEL, PYTHON = "op", "kernel", "Python"


class OpKey(NamedTuple):
    """What a row is of.

    Attributes:
        sort: `OP`, `KERNEL` or `PYTHON`.
        name: of the operator or kernel; "" for Python.
        shapes: of the inputs, as text; those of the operator that launched it for a kernel.
        file, function: the place in the user's source, without folders and lines, which differ
            where the same code lies elsewhere.
        line: of the place.
    """

    sort: str
    name: str
    shapes: str
    file: str
    function: str
    line: int


@dataclass(frozen=True)
class OpRow:
    """One row: its time and how often it came, in each step.

    Attributes:
        location: the place, None where none is known.
        step_ns: its time in each step; shape (steps,).
        count: how often it comes in a step, on average.
    """

    location: Location | None
    step_ns: NDArray[np.float64]
    count: float


OpTable = dict[OpKey, OpRow]


def op_table(trace: Trace) -> OpTable:
    """Return the rows of the window's steps; none if it has no steps."""
    starts, ends = np.array(trace.window.step_ranges, np.int64).reshape(-1, 2).T
    if not len(starts):
        return {}
    table, places = OpTable(), Places(trace)
    parts = (
        (OP, trace.rows_of_kind(EventKind.TorchOp)),
        (PYTHON, trace.rows_of_kind(EventKind.PyCall, EventKind.PyCCall)),
        (KERNEL, trace.device_rows),
    )
    for sort, rows in parts:
        # What devices do is of the step that launched it, in which they may not have begun.
        began_ns = trace.launched_ns(rows)
        step = np.searchsorted(starts, began_ns, side="right") - 1
        inside = (step >= 0) & (began_ns < ends[step])
        _add(table, trace, places, sort, rows[inside], step[inside])
    return table


def _add(table: OpTable, trace: Trace, places: Places, sort: str, rows: Rows, step: Rows) -> None:
    """Add rows of one sort; `step` is the number of the step that each is in."""
    step_count = len(trace.window.steps)
    above = places.tree_rows(rows.astype(np.int32))
    place = np.where(above >= 0, places.of_row[above], -1) if len(places.of_row) else above
    inputs = np.where(above >= 0, trace.inputs_id[above], -1)
    names, spent = trace.name_id[rows], trace.self_ns[rows]
    if sort == PYTHON:
        # What is in no function of the user's is not the user's to change.
        known = place >= 0
        place, step, spent = place[known], step[known], spent[known]
        names, inputs = np.zeros_like(names[known]), np.full_like(inputs[known], -1)
    if not len(names):
        return
    kinds, which = _distinct(names, inputs, place)
    sums = np.bincount(which * step_count + step, spent, len(kinds) * step_count).astype(np.float64)
    counts = np.bincount(which, minlength=len(kinds))
    for number, (name, inputs_id, at) in enumerate(kinds.tolist()):
        location = places.locations[at] if at >= 0 else None
        text = "" if sort == PYTHON else trace.names[name]
        key = _key(sort, text, trace.inputs.shapes(inputs_id), location)
        times = sums[number * step_count : (number + 1) * step_count]
        count = float(counts[number] / step_count)
        if (known_row := table.get(key)) is not None:
            times, count = times + known_row.step_ns, count + known_row.count
        table[key] = OpRow(location, times, count)


def _distinct(*columns: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows of some columns (from -1 on), and for each row the number of its own."""
    packed = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, which = np.unique(column, return_inverse=True)
        packed = packed * len(values) + which
        # Dense again, so that the product of the next one fits.
        packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
    first = np.unique(packed, return_index=True)[1]
    return np.stack([column[first].astype(np.int64) for column in columns], axis=1), packed


def _key(sort: str, name: str, shapes: Sequence[Any], location: Location | None) -> OpKey:
    text = str([list(shape) for shape in shapes if shape != ()]) if shapes else ""
    if location is None:
        return OpKey(sort, name, text, "", "", 0)
    file = PurePosixPath(location.file.replace("\\", "/")).name
    return OpKey(sort, name, text, file, location.function or "", location.line)


def together(tables: Sequence[OpTable], *, at_once: bool) -> OpTable:
    """Return the rows of several traces as those of one.

    Args:
        tables: one a trace.
        at_once: whether the traces are of ranks, whose steps are the same ones: then the time of a
            row is that of the rank on which it is longest. Else their steps follow one another.
    """
    if len(tables) == 1:
        return tables[0]
    counts = [len(next(iter(table.values())).step_ns) if table else 0 for table in tables]
    fewest, table = min(counts), OpTable()
    for key in dict.fromkeys(key for each in tables for key in each):
        mine = [each.get(key) for each in tables]
        times = [
            np.zeros(count) if row is None else row.step_ns
            for row, count in zip(mine, counts, strict=True)
        ]
        rows = [row for row in mine if row is not None]
        if at_once:
            step_ns = np.max([each[:fewest] for each in times], axis=0)
            count = max(row.count for row in rows)
        else:
            step_ns = np.concatenate(times)
            occurred = sum(
                row.count * steps for row, steps in zip(mine, counts, strict=True) if row
            )
            count = occurred / max(len(step_ns), 1)
        table[key] = OpRow(rows[0].location, step_ns, count)
    return table
