"""Where tensors of float64 come into a step that no module and no default made so.

    aten::lift_fresh  double[256, 512]                     torch.tensor(array): numpy's default
    <built-in method from_numpy ...>, then a double        the same, in stacks of PyTorch
    aten::_to_copy    float[256, 512], dtype double        .double()
    aten::sub         float[256], double[256]              what is float32 becomes float64 here

A trace has no names of tensors, so that one is known by its sizes, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tidy.finding import FixPlace
from tidy.trace import Event, Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from .loops import step_of

Sizes = tuple[int, ...]
_FROM_NUMPY = "<built-in method from_numpy*"
_DOUBLE = "7"  # at::ScalarType::Double, as `Concrete Inputs` has it


def float64_comes_in_at(trace: Trace, ops: Sequence[Event]) -> FixPlace | None:
    """Where the first float64 tensor comes in whose sizes these ops have, in the step of the first
    of them, or without steps the last one before it; None if that is not known, or is the place of
    the ops.
    """
    first = min(ops, key=lambda op: op.start_ns)
    sizes = {each for op in ops for each in _of_dtype(trace, op.row, "double")}
    (step,) = step_of(trace, [first.start_ns]).tolist()
    rows = _candidates(trace)
    rows = rows[trace.start_ns[rows] <= first.start_ns]
    rows = rows[trace.track_id[rows] == trace.track_id[first.row]]
    rows = rows[step_of(trace, trace.start_ns[rows]) == step]
    sources = _sources(trace, rows, sizes)
    if not len(sources):
        return None
    place = trace.location(int(sources[0 if step >= 0 else -1]))
    if place is None or place == first.location:
        return None
    return FixPlace("float64 comes in", place)


@kept
def _candidates(trace: Trace) -> Rows:
    rows = trace.rows_named("aten::*", _FROM_NUMPY)
    return rows[rows < trace.tree_count]


def _sources(trace: Trace, rows: Rows, sizes: set[Sizes]) -> Rows:
    """Return those of these rows that float64 tensors of these sizes come from."""
    calls = np.isin(trace.name_id[rows], trace.names_fitting(_FROM_NUMPY))
    alike = np.stack([trace.name_id[rows], trace.inputs_id[rows]])
    kinds, kind = np.unique(alike, axis=1, return_inverse=True)
    makes = np.array([_makes(trace, op, inputs, sizes) for op, inputs in kinds.T.tolist()], bool)
    has = np.array([_has(trace, inputs, sizes) for inputs in kinds[1].tolist()], bool)
    makes, has = makes[kind.ravel()], has[kind.ravel()]
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
    if trace.names[name] == "aten::copy_":  # into a tensor that is there, as a cast to float32 does
        return False
    return "float" in _tensors(trace, inputs) and _has(trace, inputs, sizes)


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
