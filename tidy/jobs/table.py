"""`Collectives`: what one rank recorded of its collectives, a row each."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_RANKS = 1 << 31  # no job has as many; a greater number is damage
# Point-to-point operations have one name on both ends.
SEND_RECV = "send/recv"
# Members may have a size of their own in these.
_OWN_SIZE = ("all_to_all", "alltoall", "gather", "scatter", "coalesced", SEND_RECV)
# In these some members are done before others, or need not wait for them.
_ROOTED = ("broadcast", "scatter", "gather", "reduce", SEND_RECV)
_NOT_ROOTED = ("reduce_scatter", "all_gather", "allgather", "all_reduce", "allreduce")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process group.

    Attributes:
        name: as PyTorch numbers or hashes it (`Process Group Name`).
        ranks: the global ranks of its members; () if not recorded, or only in part.
        size: the number of its members, 0 if not recorded.
        description: what the script or a library calls it: `default_pg`, `mesh_tp`.
    """

    name: str
    ranks: tuple[int, ...] = ()
    size: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Collectives:
    """The collectives of one rank, a row each, in any order; all columns have shape (n,).

    Attributes:
        rank: the global rank.
        step: the step in which each was launched, -1 for none.
        group: an index into `groups`, -1 if not recorded.
        seq: the sequence number in its group, -1 if not recorded.
        operation: an index into `operations`.
        nbytes: the size of the message, -1 if not recorded.
        start_ns, end_ns: by this rank's clock, of the kernel, or of what the host recorded.
        launch_ns: when the host launched it.
        on_device: whether a kernel ran; else the times are the host's.
        source, target: of a point-to-point operation the ranks in its group, -1 for others.
        exposed_ns: how much of it no other work of the device hides, -1 if not known.
        groups, operations: what the indexes stand for.
        world_size: the number of ranks of the job, 0 if not recorded.
        blocked_ns: for how long before its end the rank did nothing, as what was next waited for
            it; -1 if not known. None in tables without that column.
        step_flops: the operations of products that the rank launched in the step of each, -1 if
            not known. None in tables without that column.
    """

    rank: int
    step: Ints
    group: Ints
    seq: Ints
    operation: Ints
    nbytes: Ints
    start_ns: Ints
    end_ns: Ints
    launch_ns: Ints
    on_device: Bools
    source: Ints
    target: Ints
    exposed_ns: Ints
    groups: tuple[ProcessGroup, ...] = ()
    operations: tuple[str, ...] = field(default=())
    world_size: int = 0
    blocked_ns: Ints | None = None
    step_flops: Ints | None = None

    def __len__(self) -> int:
        return len(self.step)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collectives) and all(
            np.array_equal(getattr(self, each.name), getattr(other, each.name))
            for each in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]


def has_own_sizes(operation: str) -> bool:
    """Tell whether members of one collective may pass different sizes."""
    return any(word in operation for word in _OWN_SIZE)


def ends_together(operation: str) -> bool:
    """Tell whether no member of a collective is done before all have arrived."""
    if any(word in operation for word in _NOT_ROOTED):
        return True
    return not any(word in operation for word in _ROOTED)
