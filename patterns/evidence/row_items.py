"""Batches that a loader puts together from single rows of tensors, which one index takes at once.

Such items take a few microseconds each. Workers fetch them no faster than the training process, and
to send a batch from one process to another takes longer than to index it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import EventKind, Rows, Trace

from .launches import has_name

# What taking rows and stacking them calls; the last are calls of these ops.
_TAKE = ("aten::select",)
_STACK = ("aten::stack",)
_CALLS = ("aten::item", "aten::slice", "aten::lift_fresh", "aten::detach*", "aten::unsqueeze")
_WITHIN = (
    "aten::_local_scalar_dense", "aten::as_strided", "aten::cat", "aten::narrow", "aten::copy_",
    "aten::empty*", "aten::resize_", "detach*",
)  # fmt: skip
_MOST = 0.75  # of the fetches; the first of an epoch draws the order too


class RowItems(NamedTuple):
    """What a fetch does, in the median: rows of tensors taken, and batches stacked of them."""

    rows: int
    stacks: int


def row_items(trace: Trace, fetches: Rows, fewest: int, longest_ns: float) -> RowItems | None:
    """What these fetches do, where they do nothing else; None where they do.

    Args:
        fewest: how many rows a fetch takes at the least.
        longest_ns: how long a fetch takes for each row at the most.
    """
    if not len(trace.rows_named(*_TAKE)) or not len(fetches):
        return None
    taken, stacked = (_count(trace, fetches, *names) for names in (_TAKE, _STACK))
    others = _count(trace, fetches, "*") - taken - stacked
    others -= _count(trace, fetches, *_CALLS, *_WITHIN)
    fits = (taken >= fewest * np.maximum(stacked, 1)) & (stacked > 0) & (others * fewest < taken)
    fits &= trace.duration_ns[fetches] <= longest_ns * taken
    if np.count_nonzero(fits) < _MOST * len(fetches):
        return None
    return RowItems(int(np.median(taken[fits])), int(np.median(stacked[fits])))


def take_rows(trace: Trace, fetches: Rows, fewest: int) -> bool:
    """Whether any of these fetches takes so many rows of tensors, or more."""
    return bool((_count(trace, fetches, *_TAKE) >= fewest).any())


def _count(trace: Trace, fetches: Rows, *names: str) -> NDArray[np.int64]:
    """How many ops of these names each fetch holds."""
    ops = has_name(trace, *names)[trace.name_id[: trace.tree_count]]
    ops &= trace.kind[: trace.tree_count] == EventKind.TorchOp
    before = np.append(0, np.cumsum(ops))
    ops_within: NDArray[np.int64] = before[trace.subtree_end[fetches]] - before[fetches + 1]
    return ops_within
