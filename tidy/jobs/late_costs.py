"""What ranks that are late cost their job, if that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .replay import JobReplay
from .table import Bools, Collectives

_MOST_REPLAY_ERROR = 0.05  # a replay that gives the recorded run back no better says nothing
# A rank cannot cost more than the others wait for it; where the replay says so it is wrong.
_MOST_OF_WAITING = 1.2
# Kernels that start so soon after their launch found the device idle: the host is the limit.
_AT_ONCE_NS = 100_000
_NOT_HIDDEN = "what else ranks compute beside collectives is not recorded"
_OF_HOSTS = "hosts may be the limit, and what those of the others take is not recorded"
# Threads of a host see ends late, and what runs beside looks like work that hides them.
_ON_HOST = (
    "of collectives on the host waiting is known too roughly for a replay of the job; TDY902 has"
    " what each rank saves"
)


@dataclass(frozen=True, slots=True)
class LateCost:
    """By how much a recording would be shorter if some ranks came as others do.

    Attributes:
        cost_ns: what a replay of the job says; None if it says nothing.
        waited_ns: what the rank that waits least of the others waits, with nothing beside it.
        why_not: why the cost is not known; "" if it is.
    """

    cost_ns: float | None
    waited_ns: float
    why_not: str

    @property
    def may_be_hosts(self) -> bool:
        """Whether that is because hosts may be the limit."""
        return self.why_not == _OF_HOSTS

    def over(self, steps: int) -> LateCost:
        """Return the same of one of so many steps."""
        if self.cost_ns is None:
            return self
        count = max(steps, 1)
        return LateCost(self.cost_ns / count, self.waited_ns / count, self.why_not)


def late_cost(replay: JobReplay, are: Bools, tables: Sequence[Collectives]) -> LateCost:
    """Replay a job with some ranks as fast as the others, and judge whether that tells their cost.

    Args:
        are: which ranks, some and not all; shape (r,).
        tables: of the ranks, by their places.
    """
    if not replay.knows_hidden:
        return LateCost(None, 0.0, _NOT_HIDDEN)
    cost_ns = replay.cost_ns(are)
    if not (np.isfinite(cost_ns) and np.isfinite(replay.error)):  # of damaged files
        return LateCost(None, 0.0, "a replay of the recorded job gives no time")
    if abs(replay.error) > _MOST_REPLAY_ERROR:
        off_by = f"{abs(replay.error):.0%}"
        return LateCost(None, 0.0, f"a replay of the recorded job is off by {off_by}")
    matched, why_not = replay.matched, ""
    exposed = np.minimum(np.maximum(matched.exposed_ns, 0), replay.waits.waiting_ns)
    waited_ns = float(np.bincount(matched.place, exposed, len(matched.ranks))[~are].min())
    if not matched.on_device.all():
        why_not = _ON_HOST
    elif cost_ns > _MOST_OF_WAITING * waited_ns or any(
        is_of_its_host(tables[place]) for place in np.flatnonzero(are).tolist()
    ):
        why_not = _OF_HOSTS
    return LateCost(cost_ns, waited_ns, why_not)


def is_of_its_host(table: Collectives) -> bool:
    """Tell whether the collectives of a late rank start as soon as its host launches them.

    Then the others' hosts got ahead as their devices waited, and how long these take is unseen.
    Where collectives run on the host it is the host that waits.
    """
    if not table.on_device.all():
        return False
    return float(np.median(table.start_ns - table.launch_ns)) < _AT_ONCE_NS
