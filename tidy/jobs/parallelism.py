"""What process groups are for."""

from __future__ import annotations

import re

from .table import ProcessGroup

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
