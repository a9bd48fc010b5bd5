"""What is known of a job that was made, as it is written beside the traces."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from .kineto import FIRST_SEQ, FIRST_STEP
from .layout import Layout
from .simulation import Timeline
from .step import Collective, Step


def collectives(step: Step, layout: Layout, timeline: Timeline, first: int) -> list[dict[str, Any]]:
    """Tell when each member of each collective arrives, and when it is over for it, in true ns.

    A collective is named by its group and `Seq`, as in the traces. `waits_ns` is how long each
    member waits until the last one has arrived.
    """
    done = [
        (number, what, group)
        for number, what in _communication(step)
        for group in layout.groups
        if group.kind == what.group != "pipeline"
        and not np.isnan(timeline.starts[first][list(group.ranks), number]).any()
    ]
    a_step = Counter(group.name for _, _, group in done)
    result = []
    for at in range(first, len(timeline.host)):
        seen = Counter[str]()
        for number, what, group in done:
            seen[group.name] += 1
            members = list(group.ranks)
            arrivals = np.rint(timeline.starts[at][members, number]).astype(np.int64)
            ends = np.rint(timeline.ends[at][members, number]).astype(np.int64)
            result.append(
                {
                    "step": FIRST_STEP + at - first,
                    "group": group.name,
                    "seq": FIRST_SEQ + seen[group.name] + (at - first) * a_step[group.name],
                    "operation": what.operation,
                    "nbytes": what.nbytes,
                    "arrivals_ns": arrivals.tolist(),
                    "ends_ns": ends.tolist(),
                    "waits_ns": (arrivals.max() - arrivals).tolist(),
                }
            )
    return result


def transfers(step: Step, layout: Layout, timeline: Timeline, first: int) -> list[dict[str, Any]]:
    """Tell when each pair of a pipeline is there to send and to receive, and when that is over."""
    work = step.work()
    numbers = {id(each): number for number, each in enumerate(work)}
    received = [
        (n, what, partner) for n, what in _communication(step) if (partner := work[n].partner)
    ]
    result = []
    for at in range(first, len(timeline.host)):
        starts, ends = timeline.starts[at], timeline.ends[at]
        for number, what, partner in received:
            for rank in np.flatnonzero(~np.isnan(starts[:, number])).tolist():
                sender = rank - what.hop * layout.stage_size
                arrivals = starts[sender, numbers[id(partner)]], starts[rank, number]
                result.append(
                    {
                        "step": FIRST_STEP + at - first,
                        "from": sender,
                        "to": rank,
                        "nbytes": what.nbytes,
                        "arrivals_ns": [round(float(each)) for each in arrivals],
                        "end_ns": round(float(ends[rank, number])),
                    }
                )
    return result


def _communication(step: Step) -> list[tuple[int, Collective]]:
    return [(n, work.collective) for n, work in enumerate(step.work()) if work.collective]


def costs(planted: Timeline, without: Timeline, first: int, steps: list[int]) -> dict[str, Any]:
    """Tell what the job takes, and what it would take if nothing were wrong, from step `first`."""
    count = len(planted.host) - first
    both = [planted.job_ns(first), without.job_ns(first)]
    return {
        "job_ns": round(both[0]),
        "without_ns": round(both[1]),
        "step_ns": round(planted.job_ns(first) / count),
        "without_step_ns": round(without.job_ns(first) / count),
        "cost_of_hit_step_ns": round((both[0] - both[1]) / max(len(steps), 1)),
    }
