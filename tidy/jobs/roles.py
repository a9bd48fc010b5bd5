"""Which ranks do the same work in a step, so that they can be compared.

Ranks of one role have as many collectives of each sort in the step: of one operation, in groups of
one size and description, and between the same stages of a pipeline. Sizes tell stages apart, too,
but in groups whose messages are as long as the samples are, such as those of tensor parallelism.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .parallelism import CONTEXT, EXPERT, PIPELINE, TENSOR, parallelism_of
from .stretches import dense, number_within
from .table import Ints, ProcessGroup, has_own_sizes

_AS_LONG_AS_SAMPLES = (TENSOR, CONTEXT, EXPERT, PIPELINE)


def roles_of(
    groups: Sequence[ProcessGroup],
    operations: Sequence[str],
    ranks: Ints,
    columns: dict[str, Ints],
) -> tuple[Ints, Ints]:
    """Number the roles, and what corresponds within one.

    Args:
        groups, operations: what the indexes of the columns stand for.
        ranks: the global rank at each place; shape (r,).
        columns: `place`, `step`, `group`, `operation`, `nbytes`, `source`, `target` and `launch_ns`
            of all rows of all ranks; shape (n,) each.

    Returns:
        The role of each row's rank in its step, equal only within one step, and the slot of each
        row: the same for the first, second, ... of a sort on all ranks of a role; shape (n,) each.
    """
    place, step = columns["place"], columns["step"]
    if not len(place):
        return place, place
    sort = _sorts(groups, operations, ranks, columns)
    cell = dense((place, step))
    within = number_within(dense((sort, cell)), columns["launch_ns"])
    signature = np.zeros(int(cell.max()) + 1, np.uint64)
    np.add.at(signature, cell, _mixed(sort.astype(np.uint64)))
    _, number = np.unique(signature, return_inverse=True)
    role = dense((number.reshape(-1)[cell], step))
    return role, dense((within, sort, role))


def _sorts(
    groups: Sequence[ProcessGroup], operations: Sequence[str], ranks: Ints, columns: dict[str, Ints]
) -> Ints:
    """Number what rows have in common if ranks of one role have them; shape (n,)."""
    kinds = [parallelism_of(each) for each in groups]
    alike = dict[tuple[int, str], int]()
    of_group = [
        alike.setdefault((each.size or len(each.ranks), each.description), len(alike))
        for each in groups
    ]
    group = columns["group"]
    own_size = np.array([*(has_own_sizes(each) for each in operations), False])
    by_samples = np.array([*(kind in _AS_LONG_AS_SAMPLES for kind in kinds), False])
    nbytes = np.where(own_size[columns["operation"]] | by_samples[group], -1, columns["nbytes"])
    return dense(
        (
            columns["operation"], np.array([*of_group, -1], np.int64)[group], nbytes,
            columns["source"], columns["target"],
            _stages(groups, kinds, ranks, group, columns["place"]),
        )
    )  # fmt: skip


def _stages(
    groups: Sequence[ProcessGroup], kinds: Sequence[str], ranks: Ints, group: Ints, place: Ints
) -> Ints:
    """Return which stage of its pipeline a row's rank is, -1 in other groups; shape (n,)."""
    place_of = {rank: at for at, rank in enumerate(ranks.tolist())}
    stage_of = dict[int, int]()
    for number, each in enumerate(groups):
        if kinds[number] == PIPELINE:
            for stage, rank in enumerate(each.ranks):
                if rank in place_of:
                    stage_of[number * len(ranks) + place_of[rank]] = stage
    keys = np.array([-1, *sorted(stage_of)], np.int64)
    stages = np.array([-1, *(stage_of[key] for key in keys[1:].tolist())], np.int64)
    key = group * len(ranks) + place
    at = np.searchsorted(keys, key, side="right") - 1
    at = np.maximum(at, 0)
    return np.where((keys[at] == key) & (group >= 0), stages[at], -1)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter numbers over 64 bits (SplitMix64), so that sums of them tell sets apart."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
