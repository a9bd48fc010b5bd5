"""What is known of a job that was made, as it is written beside the traces."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from .kineto import FIRST_SEQ, FIRST_STEP
from .layout import Layout
from .simulation import Timeline
from .step import Step


def collectives(step: Step, layout: Layout, timeline: Timeline, first: int) -> list[dict[str, Any]]:
    """Tell when each member of each collective arrives, and when it is over for it, in true ns.

    A collective is named by its group and `Seq`, as in the traces. `waits_ns` is how long each
    member waits until the last one has arrived.
    """
    work = [(n, w) for n, w in enumerate(step.work()) if w.collective is not None]
    done = [(n, w.collective) for n, w in work if not np.isnan(timeline.starts[first][:, n]).all()]
    a_step = Counter(what.group for _, what in done if what is not None)
    result = []
    for at in range(first, len(timeline.host)):
        seen = Counter[str]()
        for number, what in done:
            assert what is not None
            seen[what.group] += 1
            seq = FIRST_SEQ + seen[what.group] + (at - first) * a_step[what.group]
            for group in layout.groups:
                if group.kind != what.group:
                    continue
                members = list(group.ranks)
                arrivals = np.rint(timeline.starts[at][members, number]).astype(np.int64)
                ends = np.rint(timeline.ends[at][members, number]).astype(np.int64)
                result.append(
                    {
                        "step": FIRST_STEP + at - first,
                        "group": group.name,
                        "seq": seq,
                        "operation": what.operation,
                        "nbytes": what.nbytes,
                        "arrivals_ns": arrivals.tolist(),
                        "ends_ns": ends.tolist(),
                        "waits_ns": (arrivals.max() - arrivals).tolist(),
                    }
                )
    return result


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
