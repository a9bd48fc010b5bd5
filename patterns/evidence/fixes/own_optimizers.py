"""Optimizers that a script has itself, whose steps update one parameter after the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Capability, Event, Location, Rows, Trace
from tidy.trace.kept import kept
from tidy.trace.lost import capturing

from ..device.launches import has_name, innermost, ops_in_no_op
from ..python.op_names import aten
from .optimizers import FUSED, names_in, optimizer_steps, rows_in, step_pattern

GROUPED = re.compile(rf"aten::_foreach_|{FUSED}")
_ANY_STEP, _OF_PYTORCH = step_pattern([".+"]), "*: _single_tensor_*"
# Elementwise operators, in place or not, that have a form for lists of tensors.
_UPDATES = aten(
    "add add_ addcdiv addcdiv_ addcmul addcmul_ copy_ div div_ lerp lerp_ mul mul_ sign sign_ sqrt "
    "sqrt_ sub sub_"
)
# For these there is no such form: with many of them they are what a step takes its time for, as
# with Newton-Schulz iterations and Shampoo's factors, or it works on one vector, as L-BFGS does.
_PRODUCTS = aten(
    "mm addmm bmm baddbmm mv addmv dot vdot _linalg_eigh linalg_qr _linalg_svd linalg_inv_ex "
    "linalg_cholesky_ex _linalg_solve_ex linalg_lstsq"
)
_MOST_PRODUCTS = 0.25  # for each update of the most frequent kind


@dataclass(frozen=True, slots=True)
class OwnOptimizer:
    """Steps of one class that update tensor by tensor.

    Attributes:
        name: of the class.
        steps: the ranges that `Optimizer.step` records.
        location: the first line at which the function that calls most of the updates does so, or
            that function if lines are not known.
    """

    name: str
    steps: list[Event]
    location: Location


@kept
def updating_one_by_one(trace: Trace, fewest_updates: int) -> list[OwnOptimizer]:
    """Return the optimizers whose steps call an operator for each parameter in the user's source.

    Left out are steps in which PyTorch's own functions do that, those that hold another optimizer's
    step, which they wrap, and those that are captured in a graph.

    Args:
        fewest_updates: how often one place has to call one operator in a step.
    """
    if Capability.STACKS not in trace.capabilities:
        return []
    is_update = has_name(trace, *_UPDATES)
    found: dict[str, list[Event]] = {}
    places: dict[str, Counter[Location]] = {}
    left_out = trace.time_of(trace.rows_named(_OF_PYTORCH)) | capturing(trace)
    for step in innermost(list(optimizer_steps(trace, _ANY_STEP))):
        if left_out.overlaps(step.start_ns, step.end_ns):
            continue
        if not _is_elementwise(step, fewest_updates):
            continue
        calls = _calls_by_place(step, is_update, fewest_updates)
        match = _ANY_STEP.fullmatch(step.name)
        if calls and match:
            found.setdefault(match[1], []).append(step)
            places.setdefault(match[1], Counter()).update(calls)
    return [OwnOptimizer(name, of, _first_line(places[name])) for name, of in found.items()]


def _is_elementwise(step: Event, fewest_updates: int) -> bool:
    """Tell whether a step calls many elementwise operators, none for a list, and few products."""
    names = names_in(step)
    most = max(names.get(each, 0) for each in _UPDATES)
    products = sum(names.get(each, 0) for each in _PRODUCTS)
    return (
        most >= fewest_updates
        and products < _MOST_PRODUCTS * most
        and not any(map(GROUPED.match, names))
    )


def _calls_by_place(
    step: Event, is_update: NDArray[np.bool_], fewest_updates: int
) -> Counter[Location]:
    """Count the updates by the place in the user's source that calls them.

    Args:
        is_update: by the id of a name.

    Returns:
        Places that call one operator so often; none if a library calls half of the updates.
    """
    trace = step.trace
    rows = rows_in(step)
    rows = rows[is_update[trace.name_id[rows]]]
    called = ops_in_no_op(trace, int(trace.track_id[step.row]))
    at = np.searchsorted(called, rows)
    ops = rows[np.append(called, -1)[at] == rows]
    # What a library's optimizer calls has the place that calls the step.
    own = {
        (place, name): count
        for place, name, count in _counts(trace, ops)
        if place is not None and place != step.location
    }
    if 2 * sum(own.values()) <= len(ops):
        return Counter()
    many = {place for (place, _), count in own.items() if count >= fewest_updates}
    calls = Counter[Location]()
    for (place, _), count in own.items():
        if place in many:
            calls[place] += count
    return calls


def _counts(trace: Trace, ops: Rows) -> Iterator[tuple[Location | None, int, int]]:
    """Count operators by their place and the id of their name."""
    same = np.column_stack((trace.parent[ops], trace.stack_id[ops], trace.name_id[ops]))
    _, first, counts = np.unique(same, axis=0, return_index=True, return_counts=True)
    by_place = Counter[tuple[Location | None, int]]()
    for row, count in zip(ops[first].tolist(), counts.tolist(), strict=True):
        by_place[trace.location(row), int(trace.name_id[row])] += count
    for (place, name), count in by_place.items():
        yield place, name, count


def _first_line(calls: Counter[Location]) -> Location:
    """Return the first place of the function that calls most."""
    of_functions = Counter[tuple[str, str]]()
    for place, count in calls.items():
        of_functions[place.file, place.function] += count
    (most, _), *_ = of_functions.most_common(1)
    return min(
        (each for each in calls if (each.file, each.function) == most), key=lambda at: at.line
    )
