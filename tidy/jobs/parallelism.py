"""What process groups are for, and what a pipeline's stages wait for one another."""

from __future__ import annotations

import re

import numpy as np

from .matching import Matched
from .table import Floats, Ints, ProcessGroup
from .waits import MemberWaits, is_point_to_point

TENSOR, PIPELINE, DATA, CONTEXT, EXPERT = "tensor", "pipeline", "data", "context", "expert"
# Words of DeviceMesh (`mesh_tp`), Megatron (`TENSOR_MODEL_PARALLEL_GROUP`) and others.
_WORDS = {
    TENSOR: "tp tensor",
    PIPELINE: "pp pipe pipeline",
    DATA: "dp ddp fsdp hsdp data shard replicate",
    CONTEXT: "cp sp context sequence",
    EXPERT: "ep expert moe",
}
_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def parallelism_of(group: ProcessGroup) -> str:
    """Tell what a group is for by its description: `tensor`, ..., "" if it does not say."""
    words = re.split(r"[^a-z]+", group.description.lower())
    kinds = [_KIND_OF[word] for word in words if word in _KIND_OF]
    # The data-parallel group of experts is one of data parallelism.
    others = [kind for kind in kinds if kind != EXPERT]
    return (others or kinds or [""])[0]


def bubbles_ns(matched: Matched, waits: MemberWaits, steps: Ints) -> Floats:
    """Add up what ranks wait in sends and receives for the other stage; shape (r, s).

    Args:
        steps: the steps to look at, ascending; shape (s,).
    """
    result = np.zeros((len(matched.ranks), len(steps)))
    if not len(steps):
        return result
    pairs = is_point_to_point(matched) & waits.is_known
    members = np.flatnonzero(pairs[matched.collective])
    step = matched.step[matched.collective[members]]
    column = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
    inside = steps[column] == step
    members, column = members[inside], column[inside]
    np.add.at(result, (matched.place[members], column), waits.waiting_ns[members])
    return result
