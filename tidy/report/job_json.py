"""What the ranks of a job are beside each other, as JSON has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jobs import Lateness, parallelism_of
from ..summary import Job


def job_to_json(job: Job) -> dict[str, Any]:
    """Return how the ranks of a job compare."""
    matched, lateness = job.matched, job.lateness
    return {
        "given_ranks": list(job.given),
        "missing_ranks": list(job.missing),
        "unknown": list(job.unknown),
        "steps": job.step_count,
        "step_ns": round(lateness.step_ns) or None,
        "collectives": len(matched.group),
        "matched_by_number": job.by_number,
        "unmatched": [
            {"reason": reason, "count": count}
            for reason, count in sorted(matched.unmatched.items())
            if count
        ],
        "ranks": _ranks(job, lateness),
        "late": [
            {
                "verdict": each.verdict.value,
                "ranks": list(each.ranks),
                "late_ns": each.late_ns and list(each.late_ns),
                "steps": list(each.steps),
                "latest": each.latest,
                "reason": each.reason or None,
                "saved_ns": each.saved_ns and list(each.saved_ns),
                "why_not_saved": each.why_not_saved or None,
            }
            for each in job.late
        ],
        "uneven_work": job.uneven
        and {
            "correlation": job.uneven.correlation,
            "spread": job.uneven.spread,
            "more_ns": round(job.uneven.more_ns),
        },
        "groups": _groups(job),
        "slow_links": [
            {
                "ranks": list(each.ranks),
                "group": matched.groups[each.group].name if each.group >= 0 else None,
                "operation": matched.operations[each.operation],
                "nbytes": each.nbytes,
                "transfer_ns": round(each.transfer_ns),
                "usual_ns": round(each.usual_ns),
                "others": each.others,
                "collectives": each.collectives,
            }
            for each in job.slow_links
        ],
        "map": _map(job),
    }


def _ranks(job: Job, lateness: Lateness) -> list[dict[str, Any]]:
    uncertain = job.clocks.uncertainty_ns.tolist()
    is_said = job.replay is not None
    return [
        {
            "rank": rank,
            "host": job.hosts.get(rank) or None,
            "clock_uncertainty_ns": _whole(uncertain[place]),
            "verdict": lateness.verdicts[place].value if is_said else "not known",
            "late_ns": _whole(float(lateness.usual_ns[place])) if is_said else None,
            "last_share": float(lateness.last_share[place]),
            "bubble_ns": job.bubble_ns.get(rank),
        }
        for place, rank in enumerate(job.ranks)
    ]


def _groups(job: Job) -> list[dict[str, Any]]:
    steps = max(job.step_count, 1)
    made = []
    for each in job.groups:
        group = job.matched.groups[each.group] if each.group >= 0 else None
        made.append(
            {
                "group": group and group.name,
                "description": group.description if group else "",
                "parallelism": (parallelism_of(group) or None) if group else None,
                "operation": job.matched.operations[each.operation],
                "collectives": each.collectives,
                "small": each.small,
                "members": each.members,
                "nbytes": each.nbytes if each.nbytes >= 0 else None,
                "transfer_ns": round(each.transfer_ns / steps),
                "waiting_ns": round(each.waiting_ns / steps),
                "exposed_ns": round(each.exposed_ns / steps) if each.exposed_ns >= 0 else None,
            }
        )
    return made


def _map(job: Job) -> dict[str, Any] | None:
    made = job.late_map()
    if made is None:
        return None
    return {
        "steps": made.steps.tolist(),
        "rows": [
            {"ranks": list(ranks), "host": host or None, "late_ns": list(map(_whole, values))}
            for ranks, host, values in zip(
                made.ranks, made.hosts, made.values_ns.tolist(), strict=True
            )
        ],
    }


def _whole(value: float) -> int | None:
    return round(value) if np.isfinite(value) else None
