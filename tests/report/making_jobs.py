"""Summaries of a job whose ranks compute and reduce, for tests of reports."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tidy.jobs import Collectives
from tidy.summary import Summary, summarise

from ..jobs.simulated import SimulatedJob
from .making import report, trace

STEPS, EACH = 12, 10
UNKNOWN = np.full(STEPS * EACH, -1)
_QUEUED_NS = 3_000_000  # from a launch to its kernel: devices are the limit


def _tables(ranks: int, late_by_ns: float, steps: range) -> list[Collectives]:
    """A job that computes 1 ms before each of 10 collectives; rank 1 longer in some steps."""
    random = np.random.default_rng(5)
    compute_ns = 1e6 * (1 + 0.02 * random.standard_normal((ranks, STEPS, EACH)))
    compute_ns[1, steps.start : steps.stop, 3] += late_by_ns
    job = SimulatedJob({"dp": [list(range(ranks))]}, ["dp"] * EACH, compute_ns, {"dp": 1e5})
    return job.tables()


def ranks_of_job(
    ranks: int, late_by_ns: float = 0.0, steps: range = range(STEPS), **more: Any
) -> list[Summary]:
    """The summaries of such a job; `more` are columns of all tables."""
    return [with_table(each, ranks, **more) for each in _tables(ranks, late_by_ns, steps)]


@cache
def _summary(rank: int, ranks: int) -> Summary:
    return summarise(report(run=trace(rank=rank, of=ranks)))


def with_table(table: Collectives, ranks: int, **more: Any) -> Summary:
    """The summary of a trace, with the collectives of a table in place of its own."""
    made = _summary(table.rank, ranks)
    changed = {
        "exposed_ns": table.end_ns - table.start_ns,
        "launch_ns": table.start_ns - _QUEUED_NS,
        "blocked_ns": table.end_ns - table.start_ns,
        **more,
    }
    return replace(made, collectives=replace(table, **changed))
