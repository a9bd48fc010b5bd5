"""`StepParts`: what each step of a trace is spent on, in the parts of the account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Rows
from .pieces import Stretches, cut_at

_MOST = 1 << 62  # a greater number of a step is damage


@dataclass(frozen=True, slots=True, eq=False)
class StepParts:
    """The time of steps by part, in the mean of the devices; those the window leaves out, too.

    Attributes:
        steps: the numbers of the steps, by start; shape (s,).
        names: part and cause of each part, as in `Part`.
        time_ns: shape (p, s).
    """

    steps: Rows
    names: tuple[tuple[str, str], ...]
    time_ns: Rows

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StepParts)
            and self.names == other.names
            and np.array_equal(self.steps, other.steps)
            and np.array_equal(self.time_ns, other.time_ns)
        )

    __hash__ = None  # type: ignore[assignment]


Named = tuple[Stretches, Sequence[tuple[str, str]]]  # and the part and cause of each kind


def step_parts_of(
    numbers: Sequence[int], ranges: Sequence[tuple[int, int]], pieces: Iterable[Named], devices: int
) -> StepParts:
    """Add up pieces of time by step and part.

    Args:
        ranges: start and end of each step; what two of them hold counts for the later.
        devices: how many the pieces are of.
    """
    by_start = sorted(zip(ranges, numbers, strict=True))
    starts, ends = np.array([lasts for lasts, _ in by_start], np.int64).reshape(-1, 2).T
    edges = np.unique(np.concatenate([starts, ends]))
    # The step from each edge to the next, -1 for none; the last is also of what is before all.
    holder = np.full(len(edges) + 1, -1)
    for step, (first, last) in enumerate(np.searchsorted(edges, [starts, ends]).T.tolist()):
        holder[first:last] = step
    sums = dict[tuple[str, str], NDArray[np.float64]]()
    for stretches, names in pieces:
        cut = cut_at(stretches, edges)
        at = holder[np.searchsorted(edges, cut.start_ns, side="right") - 1]
        inside = at >= 0
        spent = (cut.end_ns - cut.start_ns)[inside]
        cell = cut.kind[inside].astype(np.int64) * len(starts) + at[inside]
        of_kind = np.bincount(cell, spent, len(names) * len(starts))
        of_kind = of_kind.reshape(len(names), len(starts))
        for kind in np.flatnonzero(of_kind.any(axis=1)).tolist():
            total = sums.setdefault(names[kind], np.zeros(len(starts)))
            total += of_kind[kind]
    names_found = tuple(sorted(sums))
    time_ns = np.array([sums[each] for each in names_found]).reshape(len(sums), len(starts))
    mean_ns = np.rint(time_ns / max(devices, 1)).astype(np.int64)
    steps = np.array([min(number, _MOST) for _, number in by_start], np.int64)
    return StepParts(steps, names_found, mean_ns)
