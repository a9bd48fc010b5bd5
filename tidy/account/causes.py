"""The words for what time goes to: fixed ones, and the finer kinds that each stands for.

A part of an account has one of these words as its cause, in JSON and in Python. Which words there
are is part of the format of a report; kinds are told apart where a person is told more than that.
"""

from __future__ import annotations

from typing import NamedTuple

from . import host_kinds, work_kinds
from .device_work import (
    ABOVE_SHORTEST,
    CONVOLUTIONS_ON_ORDINARY,
    CONVOLUTIONS_ON_TENSOR_CORES,
    COPIES,
    FILLS,
    TRANSFER,
    WAITING_FOR_RANKS,
)


class Cause(NamedTuple):
    """What a kind of time counts as.

    Attributes:
        word: the fixed word.
        tensor_cores: of products whether they run on Tensor Cores (Matrix Cores on AMD); None of
            all else, and where that is not known.
    """

    word: str
    tensor_cores: bool | None = None


# How a person reads each word. Of products the report says on which cores besides.
TEXT_OF = {
    "matmul": "matrix products",
    "convolution": "convolutions",
    "attention": "attention",
    "normalization": "normalisation and reductions",
    "elementwise": "elementwise",
    "optimizer": "optimizer",
    "other": "other work",
    "transfer": "communication",
    "rank-wait": "waiting for other ranks",
    "copy": "copies",
    "fill": "fills",
    "data-loading": "loading data",
    "device-wait": "waiting for the device",
    "launching": "launching",
    "python": "Python between ops",
    "host-code": "host code",
    "optimizer-host": "optimizer's host work",
    "hook-host": "hooks' host work",
    "allocator": "allocator calls",
    "first-calls": "compiling and first calls",
    "garbage-collection": "garbage collection",
    "host-stall": "host stalls",
    "cpu-op": "work on the CPU",
    "other-process": "waiting for another process",
    "recording": "the recording itself",
    "gap": "gaps between kernels",
    "unknown": "unknown",
}
CAUSE_OF = {
    work_kinds.TENSOR_CORES: Cause("matmul", True),
    work_kinds.ORDINARY: Cause("matmul", False),
    work_kinds.PRODUCTS: Cause("matmul"),
    CONVOLUTIONS_ON_TENSOR_CORES: Cause("convolution", True),
    CONVOLUTIONS_ON_ORDINARY: Cause("convolution", False),
    work_kinds.CONVOLUTIONS: Cause("convolution"),
    work_kinds.ATTENTION: Cause("attention"),
    work_kinds.REDUCTION: Cause("normalization"),
    work_kinds.ELEMENTWISE: Cause("elementwise"),
    work_kinds.OPTIMIZER: Cause("optimizer"),
    work_kinds.OTHER: Cause("other"),
    work_kinds.MEMORY: Cause("other"),
    work_kinds.COMMUNICATION: Cause("transfer"),
    ABOVE_SHORTEST: Cause("transfer"),
    TRANSFER: Cause("transfer"),
    WAITING_FOR_RANKS: Cause("rank-wait"),
    COPIES: Cause("copy"),
    FILLS: Cause("fill"),
    host_kinds.LOADING: Cause("data-loading"),
    host_kinds.WORKERS: Cause("data-loading"),
    host_kinds.RECEIVING: Cause("data-loading"),
    host_kinds.WAITING: Cause("device-wait"),
    host_kinds.COPYING: Cause("device-wait"),
    host_kinds.LAUNCHING: Cause("launching"),
    host_kinds.PYTHON: Cause("python"),
    host_kinds.IN_RANGES: Cause("host-code"),
    host_kinds.NOT_IN_RANGES: Cause("host-code"),
    host_kinds.OPTIMIZER: Cause("optimizer-host"),
    host_kinds.HOOK: Cause("hook-host"),
    host_kinds.ALLOCATOR: Cause("allocator"),
    host_kinds.COMPILING: Cause("first-calls"),
    host_kinds.COLLECTING: Cause("garbage-collection"),
    host_kinds.STALLED: Cause("host-stall"),
    host_kinds.CPU_OP: Cause("cpu-op"),
    host_kinds.PREPROCESSING: Cause("cpu-op"),
    host_kinds.OTHER_PROCESS: Cause("other-process"),
    host_kinds.COLLECTIVE: Cause("other-process"),
    host_kinds.RECORDING: Cause("recording"),
    host_kinds.LOST_IN_GRAPHS: Cause("recording"),
    host_kinds.LOST: Cause("recording"),
    host_kinds.LEFT_OUT: Cause("recording"),
    host_kinds.GAP: Cause("gap"),
    host_kinds.NOT_RECORDED: Cause("unknown"),
    host_kinds.UNKNOWN: Cause("unknown"),
}


class PartName(NamedTuple):
    """Which part of an account something is of, in other accounts too; attributes as of `Part`."""

    part: str
    cause: str
    tensor_cores: bool | None

    def __str__(self) -> str:
        said = cause_text(self.cause, self.tensor_cores)
        return said if self.part == "host" else f"{self.part}: {said}"


def cause_text(word: str, tensor_cores: bool | None = None) -> str:
    """Say how a person reads a cause; a word that is none of the fixed ones stands as it is."""
    said = TEXT_OF.get(word, word)
    if tensor_cores is None:
        return said
    return f"{said} on {'Tensor Cores' if tensor_cores else 'ordinary cores'}"
