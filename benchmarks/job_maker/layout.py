"""Where the ranks of a job are: nodes, process groups, links, clocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

# Bus bandwidths as NCCL's tests report them, in bytes a ns.
_IN_NODE, _AMONG_NODES = 200.0, 80.0
_LATENCY_NS, _HOP_NS = 9_000, 1_500
_SHOWN_RANKS = 30  # as many PyTorch writes


@dataclass(frozen=True)
class Group:
    """A process group: its name and description as PyTorch writes them, and its ranks."""

    name: str
    description: str
    kind: str
    ranks: tuple[int, ...]

    @property
    def ranks_text(self) -> str:
        """The ranks as they stand in the args of a collective."""
        shown = ", ".join(map(str, self.ranks[:_SHOWN_RANKS]))
        return f"[{shown}{', ...' if len(self.ranks) > _SHOWN_RANKS else ''}]"


@dataclass(frozen=True)
class Layout:
    """The ranks of a job.

    Attributes:
        world: how many there are.
        node_size: how many are on a node.
        tensor: how many ranks in a row share a layer.
        stages: how many ranks follow one another in a pipeline.
    """

    world: int
    node_size: int = 8
    tensor: int = 1
    stages: int = 1

    def __post_init__(self) -> None:
        size = self.tensor * self.stages
        if self.world < 1 or self.tensor < 1 or self.stages < 1 or self.world % size:
            raise ValueError(f"{self.world} ranks do not make groups of {size}")

    @cached_property
    def groups(self) -> list[Group]:
        """All groups, that of all ranks first."""
        every = tuple(range(self.world))
        if self.tensor == self.stages == 1:
            return [Group("0", "default_pg", "data", every)]
        result = [Group("0", "default_pg", "world", every)]
        members = list[tuple[str, tuple[int, ...]]]()
        if self.tensor > 1:
            starts = range(0, self.world, self.tensor)
            members += [("tensor", every[at : at + self.tensor]) for at in starts]
        for first in range(0, self.world, self.stage_size):
            stage = every[first : first + self.stage_size]
            members += [("data", stage[at :: self.tensor]) for at in range(self.tensor)]
        if self.stages > 1:
            lines = range(self.stage_size)
            members += [("pipeline", every[at :: self.stage_size]) for at in lines]
        for kind, ranks in members:
            description = f"{kind.upper()}_PARALLEL_GROUP"
            result.append(Group(str(len(result)), description, kind, ranks))
        return result

    @property
    def stage_size(self) -> int:
        """How many ranks a stage of the pipeline has."""
        return self.world // self.stages

    def groups_of(self, rank: int) -> list[Group]:
        """The groups that a rank is in."""
        return [group for group in self.groups if rank in group.ranks]

    def members(self, kind: str) -> NDArray[np.int64]:
        """The ranks of each group of a kind, in shape (groups, ranks of a group)."""
        return np.array([group.ranks for group in self.groups if group.kind == kind], np.int64)

    def node(self, rank: int) -> int:
        """The number of the node that a rank is on."""
        return rank // self.node_size

    def host(self, rank: int) -> str:
        """The name of that node."""
        return f"node-{self.node(rank):03d}"

    def transfer_ns(self, kind: str, nbytes: int, operation: str) -> Times:
        """How long a collective takes in each group of a kind once all have arrived."""
        members = self.members(kind)
        size = members.shape[1]
        nodes = members // self.node_size
        bandwidth = np.where((nodes == nodes[:, :1]).all(axis=1), _IN_NODE, _AMONG_NODES)
        share = (size - 1) / size * (2 if operation == "allreduce" else 1)
        latency = _LATENCY_NS + _HOP_NS * np.log2(max(size, 2))
        return latency + share * nbytes / bandwidth

    def hop_ns(self, one: NDArray[np.int64], other: NDArray[np.int64], nbytes: int) -> Times:
        """How long it takes from rank to rank once both are there."""
        is_near = one // self.node_size == other // self.node_size
        return _LATENCY_NS + nbytes / np.where(is_near, _IN_NODE, _AMONG_NODES)


@dataclass(frozen=True)
class Clock:
    """The clock of a rank: what it shows is later by `offset_ns`, and gains `drift_ppm`."""

    offset_ns: int
    drift_ppm: float

    def shows(self, true_ns: Times) -> NDArray[np.int64]:
        """What it shows at times since the start of the job."""
        return np.rint(true_ns * (1 + self.drift_ppm / 1e6) + self.offset_ns).astype(np.int64)


def clocks(world: int, rng: np.random.Generator) -> list[Clock]:
    """Clocks that are set as well as those of a cluster: within some ms, drifting some ppm."""
    offsets = rng.normal(0, 1_500_000, world).astype(np.int64)
    drifts = rng.uniform(-5, 5, world).round(3)
    return [Clock(int(o), float(d)) for o, d in zip(offsets, drifts, strict=True)]
