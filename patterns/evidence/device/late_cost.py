"""What ranks that stay late cost their job, from the traces of all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidy.jobs import (
    MOST_REPLAY_ERROR,
    Verdict,
    align,
    chain_of,
    collectives_of,
    lateness_of,
    match,
    replay_of,
    waits_of,
)
from tidy.trace import Trace


def cost_of_late_ranks(traces: Sequence[Trace]) -> float | None:
    """Return by how much a step would be shorter in ns if ranks that stay late came as others do.

    Args:
        traces: of all ranks of a job.

    Returns:
        None if no rank stays late, or if a replay of the job does not tell.
    """
    tables = [collectives_of(each) for each in traces]
    if len({each.rank for each in tables}) < len(tables):  # the number of one is damage
        return None
    matched = match(tables)
    if not len(matched.group) or not matched.on_device.all():
        return None
    with np.errstate(invalid="ignore", over="ignore"):  # of damaged files: times of no clock
        waits, chain = waits_of(matched, align(matched)), chain_of(matched)
        lateness = lateness_of(matched, waits, chain)
        are = np.array([each == Verdict.STAYS_LATE for each in lateness.verdicts], bool)
        if not are.any() or are.all():
            return None
        replay = replay_of(matched, chain, waits)
        if not replay.knows_hidden or abs(replay.error) > MOST_REPLAY_ERROR:
            return None
        steps = int(np.count_nonzero(np.isfinite(lateness.late_ns[are]).any(axis=0)))
        return replay.cost_ns(are) / max(steps, 1)
