"""Collectives of a distributed run: the ops that start them, and DistributedDataParallel's passes.

PyTorch records a collective several times: as the op that Python calls (`c10d::allreduce_`), as
what the backend does (`nccl:all_reduce`, `gloo:all_reduce`), and as a kernel (`ncclDevKernel_...`).
"""

from __future__ import annotations

import re
from math import prod

import numpy as np

from tidy.trace import Event, EventKind, Intervals, Trace
from tidy.trace.inputs import is_dims

from .launches import Rows, by_start

DDP_FORWARD = "DistributedDataParallel.forward"
_ALL_REDUCE = ("c10d::allreduce_", "nccl:all_reduce", "gloo:all_reduce")
_COLLECTIVE = re.compile(
    r"(void )?(nccl\w*Kernel|rccl|msccl).*|(nccl|gloo|mpi|ucc):.*|c10d::\w+", re.IGNORECASE
)


def communicates(trace: Trace) -> bool:
    """Whether a collective was recorded, by whatever backend."""
    return any(map(_COLLECTIVE.match, trace.names))


def ddp_forwards(trace: Trace) -> Rows:
    """The forward passes of DistributedDataParallel, by start."""
    rows = trace.rows_named(DDP_FORWARD)
    rows = rows[rows < trace.tree_count]
    on_host = (EventKind.Annotation, EventKind.TorchOp)
    return by_start(trace, rows[np.isin(trace.kind[rows], on_host)])


def all_reduces(trace: Trace) -> Rows:
    """The ops that start an all-reduce, by start; each once, though a backend records it again."""
    for name in _ALL_REDUCE:
        rows = trace.rows_named(name)
        rows = rows[rows < trace.tree_count]
        if len(rows):
            return by_start(trace, rows)
    return np.empty(0, np.int64)


def element_count(op: Event) -> int | None:
    """How many numbers a collective reduces; None where shapes were not recorded."""
    shapes = op.input_shapes[:1]
    if not shapes or not shapes[0]:
        return None
    dims = [shapes[0]] if is_dims(shapes[0]) else list(shapes[0])
    return sum(int(prod(each)) for each in dims)


def exposed_time(trace: Trace, rows: Rows) -> Intervals:
    """The time of collectives' kernels in which their devices do nothing else, in the window."""
    time = Intervals()
    for device in np.unique(trace.device[rows]).tolist():
        mine = rows[trace.device[rows] == device]
        others = np.setdiff1d(trace.rows_of_device(device), mine)
        time = time | (trace.time_of(mine) - trace.time_of(others))
    return time & trace.step_time


def of_gradients(trace: Trace, rows: Rows) -> Rows:
    """Those of the ops that reduce a gradient as it comes in, or after the backward.

    Left out are those in the backward of a function, as tensor parallelism has them: what follows
    needs their result.
    """
    is_function = np.array(
        ["Backward" in name and not name.startswith("autograd::engine") for name in trace.names],
        bool,
    )
    functions = np.flatnonzero(is_function[trace.name_id[: trace.tree_count]])
    inside = Intervals(functions, trace.subtree_end[functions]).contains(rows)
    kept: Rows = rows[~inside]
    return kept
