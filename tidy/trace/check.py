"""The invariants of a table of events, as assertions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .event_table import EventTable
from .kinds import DEVICE_WORK, TREE_KINDS, EventKind
from .steps import Step


def check_table(trace: EventTable, steps: Iterable[Step]) -> None:
    """Check every invariant of a table and the steps found in it.

    Raises:
        AssertionError: an invariant does not hold; the message names it and the first rows.
    """
    count, tree = len(trace), trace.tree_count
    rows = np.arange(tree)
    parent, end = trace.parent[:tree], trace.subtree_end[:tree]
    _hold("tree kinds come first", np.isin(trace.kind, TREE_KINDS) == (np.arange(count) < tree))
    _hold("durations are not negative", trace.duration_ns >= 0)
    _hold("parents precede their children", parent < rows)
    _hold("a subtree holds at least its root", end > rows)
    child = rows[parent >= 0]
    above = parent[child]
    _hold("a subtree lies inside its parent's", end[child] <= end[above])
    _hold("parents start no later", trace.start_ns[above] <= trace.start_ns[child])
    _hold("an event without duration is no parent", trace.duration_ns[above] > 0)
    before = trace.previous_sibling[:tree]
    later = rows[(before >= 0) & (parent >= 0)]
    _hold("siblings come by start", trace.start_ns[before[later]] <= trace.start_ns[later])
    roots = trace.root_rows
    _hold("subtrees of roots tile the tree", end[roots] == np.append(roots[1:], tree)[: len(roots)])
    _hold(
        "self time is within duration", (trace.self_ns >= 0) & (trace.self_ns <= trace.duration_ns)
    )
    calls = trace.rows_of_kind(EventKind.Runtime)
    _hold("calls run in tree rows", trace.caller[calls] < tree)
    device = trace.rows_of_kind(*DEVICE_WORK)
    caller = trace.caller[device]
    launched = caller[caller >= tree]
    _hold("device work is launched by calls", trace.kind[launched] == EventKind.Runtime)
    for backward, forward in trace.forward.items():
        same = trace.sequence_nr[backward] == trace.sequence_nr[forward]
        _hold("forward and backward share a sequence number", np.array([same]))
    _hold("steps are not empty", np.array([s.duration_ns > 0 for s in steps], bool))


def _hold(invariant: str, holds: NDArray[np.bool_]) -> None:
    if not holds.all():
        where = np.flatnonzero(~holds)[:5].tolist()
        raise AssertionError(f"{invariant}: broken at {where}")
