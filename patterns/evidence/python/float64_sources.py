"""Where tensors of float64 come into a step that no module and no default made so.

    aten::lift_fresh  double[256, 512]                     torch.tensor(array): numpy's default
    <built-in method from_numpy ...>, then a double        the same, in stacks of PyTorch
    aten::_to_copy    float[256, 512], dtype double        .double()
    aten::sub         float[256], double[256]              what is float32 becomes float64 here

A trace has no names of tensors, so that one is known by its sizes, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tidy.finding import FixPlace
from tidy.trace import Event, Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from .loops import step_of
from .op_names import aten

Sizes = tuple[int, ...]
_NO_ROWS = np.empty(0, np.int64)
_FROM_NUMPY = "<built-in method from_numpy*"
_COMPARISONS = aten("eq ne lt le gt ge isclose equal allclose logical_and logical_or logical_xor")
_CASTS_LIKE = aten("type_as to")
_DOUBLE = "7"  # at::ScalarType::Double, as `Concrete Inputs` has it


def float64_comes_in_at(trace: Trace, ops: Sequence[Event]) -> FixPlace | None:
    """Find where the first float64 tensor comes in whose sizes these ops have, in the step of the
    first of them, or without steps the last one before it; None if that is not known, or is the
    place of the ops.
    """
    first = min(ops, key=lambda op: op.start_ns)
    sizes = {each for op in ops for each in _of_dtype(trace, op.row, "double")}
    (step,) = step_of(trace, [first.start_ns]).tolist()
    rows = _candidates(trace).get((int(trace.track_id[first.row]), step), _NO_ROWS)
    rows = rows[: np.searchsorted(trace.start_ns[rows], first.start_ns, side="right")]
    sources = _sources(trace, rows, sizes)
    if not len(sources):
        return None
    place = trace.location(int(sources[0 if step >= 0 else -1]))
    if place is None or place == first.location:
        return None
    return FixPlace("float64 comes in", place)


@kept
def _candidates(trace: Trace) -> dict[tuple[int, int], Rows]:
    """The ops and calls of each thread in each step, by start."""
    rows = trace.rows_named("aten::*", _FROM_NUMPY)
    rows = rows[rows < trace.tree_count]
    steps = step_of(trace, trace.start_ns[rows])
    order = np.lexsort((trace.start_ns[rows], steps, trace.track_id[rows]))
    rows, steps = rows[order], steps[order]
    tracks = trace.track_id[rows]
    begins = np.flatnonzero((np.diff(tracks, prepend=-1) != 0) | (np.diff(steps, prepend=-9) != 0))
    return {
        (int(tracks[first]), int(steps[first])): rows[first:last]
        for first, last in pairwise([*begins.tolist(), len(rows)])
    }


def _sources(trace: Trace, rows: Rows, sizes: set[Sizes]) -> Rows:
    """Return those of these rows that float64 tensors of these sizes come from."""
    calls = np.isin(trace.name_id[rows], trace.names_fitting(_FROM_NUMPY))
    alike = (trace.name_id[rows].astype(np.int64) << 32) + trace.inputs_id[rows]
    _, of_each, kind = np.unique(alike, return_index=True, return_inverse=True)
    kinds = [(int(trace.name_id[row]), int(trace.inputs_id[row])) for row in rows[of_each].tolist()]
    makes = np.array([_makes(trace, op, inputs, sizes) for op, inputs in kinds], bool)
    has = np.array([_has(trace, inputs, sizes) for _, inputs in kinds], bool)
    makes, has = makes[kind], has[kind]
    first_use = int(np.flatnonzero(has & ~calls)[0]) if (has & ~calls).any() else len(rows)
    from_numpy = np.flatnonzero(calls[:first_use])
    found: Rows = rows[np.unique(np.append(np.flatnonzero(makes), from_numpy[-1:]))]
    return found


def _makes(trace: Trace, name: int, inputs: int, sizes: set[Sizes]) -> bool:
    """Tell whether an op with these inputs makes a float64 tensor of another one or of an array."""
    if trace.names[name] == "aten::lift_fresh":
        return _has(trace, inputs, sizes)
    dtypes = trace.inputs.dtypes(inputs)
    given = {_key(dims) for dims in trace.inputs.shapes(inputs)[:1]}
    if trace.names[name] == "aten::_to_copy":
        concrete = trace.inputs.concrete(inputs)
        return concrete[1:2] == (_DOUBLE,) and dtypes[:1] != ("double",) and bool(given & sizes)
    if not _gives_float64(trace.names[name], dtypes):
        return False
    return "float" in _tensors(trace, inputs) and _has(trace, inputs, sizes)


def _gives_float64(name: str, dtypes: Sequence[str]) -> bool:
    """Tell whether an op of float32 and float64 may have a result of float64.

    One that writes into a tensor that is there keeps its dtype, a cast has that of what it is cast
    to, and comparisons have truth values.
    """
    if name.endswith("_"):
        return dtypes[:1] == ("double",) and name != "aten::copy_"
    if name in _CASTS_LIKE:
        return dtypes[1:2] == ("double",)
    return name not in _COMPARISONS


def _has(trace: Trace, inputs: int, sizes: set[Sizes]) -> bool:
    return not sizes.isdisjoint(_tensors(trace, inputs).get("double", ()))


def _of_dtype(trace: Trace, row: int, dtype: str) -> list[Sizes]:
    return _tensors(trace, int(trace.inputs_id[row])).get(dtype, [])


def _tensors(trace: Trace, inputs: int) -> dict[str, list[Sizes]]:
    """Return the sizes of the tensors among some inputs, by dtype; none of tensors without dims."""
    found: dict[str, list[Sizes]] = {}
    known = zip(trace.inputs.dtypes(inputs), trace.inputs.shapes(inputs), strict=False)
    for dtype, dims in known:
        if dims and (sizes := _key(dims)):
            found.setdefault(dtype, []).append(sizes)
    return found


def _key(dims: Any) -> Sizes:
    """Return dims in order of size, since a product may take a transposed matrix."""
    return tuple(sorted(dims)) if is_dims(dims) else ()
