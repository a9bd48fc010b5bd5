"""Files into which somebody merged the traces of several ranks."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..trace import EventKind, Rows, Trace

# A process counts its calls by itself: two that share this part of their numbers are two traces.
_SHARED, _FEWEST = 0.5, 3
_MOST_NAMED = 2


def merged_ranks(trace: Trace) -> list[str]:
    """Name the processes of which each was traced by itself; none where one trace was written.

    Each runs operators, and their calls have the same correlations, or they mark the same steps.
    """
    if len({track.pid for track in trace.tracks}) < 2:
        return []
    with_ops = _by_process(trace, trace.rows_of_kind(EventKind.TorchOp)).keys()
    steps = trace.rows_named("ProfilerStep#*")
    by_number = (
        (trace.rows_of_kind(EventKind.Runtime), trace.correlation),
        (steps[steps < trace.tree_count], trace.name_id),
    )
    merged = dict[int | str, None]()
    for rows, numbers in by_number:
        of_process = _by_process(trace, rows)
        known = {pid: np.unique(numbers[own]) for pid, own in of_process.items()}
        known = {pid: mine for pid, mine in known.items() if pid in with_ops}
        for one, other in combinations(known, 2):
            fewer = min(len(known[one]), len(known[other]))
            both = len(np.intersect1d(known[one], known[other], assume_unique=True))
            if fewer >= _FEWEST and both >= _SHARED * fewer:
                merged |= {one: None, other: None}
    return [str(pid) for pid in merged]


def refusal_of(ranks: list[str]) -> str:
    """Say what such a file is, and what to give instead."""
    named = ", ".join(ranks[:_MOST_NAMED]) + (", ..." if len(ranks) > _MOST_NAMED else "")
    return (
        f"the traces of {len(ranks)} processes ({named}) were merged into this file; their calls"
        " cannot be told apart; give the files that were merged, one for each rank"
    )


def _by_process(trace: Trace, rows: Rows) -> dict[int | str, Rows]:
    pids = [track.pid for track in trace.tracks]
    tracks = np.unique(trace.track_id[rows]).tolist()
    of_pid = dict[int | str, list[int]]()
    for track in tracks:
        of_pid.setdefault(pids[track], []).append(track)
    if len(of_pid) < 2:
        return {}
    return {pid: rows[np.isin(trace.track_id[rows], own)] for pid, own in of_pid.items()}
