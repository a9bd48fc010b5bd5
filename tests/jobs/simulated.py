"""A job whose truth is known: when each rank comes to each collective, and what its clock shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidy.jobs import Collectives, ProcessGroup

Floats = NDArray[np.float64]


@dataclass
class SimulatedJob:
    """Ranks that compute between collectives.

    In each step each rank goes through `program`: names of families of groups. A family is a list
    of groups, each a list of ranks; a rank takes part in the group that it is in.

    Attributes:
        compute_ns: before each collective; shape (ranks, steps, len(program)).
        transfer_ns: of a collective of each family.
        slow: of groups, by family and number, how many times as long a transfer takes.
        offset_ns, drift: of each rank's clock.
        noise_ns: the deviation of what ranks see of an end.
    """

    families: Mapping[str, Sequence[Sequence[int]]]
    program: Sequence[str]
    compute_ns: Floats
    transfer_ns: Mapping[str, float]
    slow: Mapping[tuple[str, int], float] = field(default_factory=dict)
    offset_ns: Floats | None = None
    drift: Floats | None = None
    noise_ns: float = 0.0
    has_seq: bool = True
    has_group: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        ranks, steps, _ = self.compute_ns.shape
        random = np.random.default_rng(self.seed)
        offset = np.zeros(ranks) if self.offset_ns is None else self.offset_ns
        drift = np.zeros(ranks) if self.drift is None else self.drift
        now = np.zeros(ranks)
        start, end = np.empty_like(self.compute_ns), np.empty_like(self.compute_ns)
        self.group_of = {
            name: {rank: number for number, group in enumerate(groups) for rank in group}
            for name, groups in self.families.items()
        }
        for step in range(steps):
            for at, name in enumerate(self.program):
                now += self.compute_ns[:, step, at]
                start[:, step, at] = now
                for number, group in enumerate(self.families[name]):
                    took = self.transfer_ns[name] * self.slow.get((name, number), 1.0)
                    now[list(group)] = now[list(group)].max() + took
                end[:, step, at] = now
        self.true_start_ns, self.true_end_ns, self.length_ns = start, end, float(now.max())
        # A clock shows t * (1 + drift) + offset.
        start = start * (1 + drift)[:, None, None] + offset[:, None, None]
        seen = end + self.noise_ns * random.standard_normal(end.shape)
        seen = seen * (1 + drift)[:, None, None] + offset[:, None, None]
        self.start_ns = np.rint(start).astype(np.int64)
        self.end_ns = np.maximum(np.rint(seen).astype(np.int64), self.start_ns)

    def tables(self) -> list[Collectives]:
        """The table of each rank."""
        ranks, steps, length = self.compute_ns.shape
        names = list(self.families)
        count = steps * length
        family = np.tile([names.index(name) for name in self.program], steps)
        seq = np.array(
            [np.count_nonzero(family[:at] == family[at]) for at in range(count)], np.int64
        )
        result = []
        for rank in range(ranks):
            groups = tuple(
                ProcessGroup(f"{name}", tuple(self.families[name][self.group_of[name][rank]]))
                for name in names
            )
            start = self.start_ns[rank].reshape(-1)
            nothing = np.full(count, -1)
            result.append(
                Collectives(
                    rank=rank,
                    step=np.repeat(np.arange(steps), length),
                    group=family if self.has_group else nothing,
                    seq=seq if self.has_seq else nothing,
                    operation=np.zeros(count, np.int64),
                    nbytes=(1 << 20) * (1 + family),
                    start_ns=start,
                    end_ns=self.end_ns[rank].reshape(-1),
                    launch_ns=start,
                    on_device=np.ones(count, bool),
                    source=nothing,
                    target=nothing,
                    exposed_ns=nothing,
                    groups=groups if self.has_group else (),
                    operations=("nccl:all_reduce",),
                    world_size=ranks,
                )
            )
        return result


def one_group(
    ranks: int,
    steps: int = 12,
    *,
    each: int = 3,
    jitter: float = 0.02,
    seed: int = 0,
    **more: Any,
) -> SimulatedJob:
    """A data-parallel job: `each` all-reduces a step after 10 ms of computing, with jitter."""
    random = np.random.default_rng(seed)
    compute = 1e7 / each * (1 + jitter * random.standard_normal((ranks, steps, each)))
    settings = {"seed": seed, "noise_ns": 2_000.0, **more}
    compute = compute + settings.pop("more_ns", 0.0)
    families = {"world": [list(range(ranks))]}
    return SimulatedJob(families, ["world"] * each, compute, {"world": 5e5}, **settings)


def tensor_and_data(
    ranks: int,
    of_tensor: int = 4,
    steps: int = 12,
    *,
    jitter: float = 0.02,
    seed: int = 0,
    **more: Any,
) -> SimulatedJob:
    """Ranks in groups of tensor and of data parallelism, which overlap."""
    random = np.random.default_rng(seed)
    program = ["tp", "tp", "tp", "dp"]
    compute = 3e6 * (1 + jitter * random.standard_normal((ranks, steps, len(program))))
    settings = {"seed": seed, "noise_ns": 2_000.0, **more}
    compute = compute + settings.pop("more_ns", 0.0)
    families = {
        "tp": [list(range(at, at + of_tensor)) for at in range(0, ranks, of_tensor)],
        "dp": [list(range(at, ranks, of_tensor)) for at in range(of_tensor)],
    }
    transfer = {"tp": 2e5, "dp": 1e6}
    return SimulatedJob(families, program, compute, transfer, **settings)
