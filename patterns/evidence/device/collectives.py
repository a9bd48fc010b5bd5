"""Collectives of a distributed run: the ops that start them, and DistributedDataParallel's passes.

PyTorch records a collective several times: as the op that Python calls (`c10d::allreduce_`), as
what the backend does (`nccl:all_reduce`, `gloo:all_reduce`), and as a kernel (`ncclDevKernel_...`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tidy.account import kernels_of_collectives
from tidy.finding import NotApplicable, Obstacle
from tidy.trace import Event, EventKind, Intervals, Rows, Trace
from tidy.trace.inputs import is_dims

from .launches import below, by_start, has_name, tree_rows

DDP_FORWARD = "DistributedDataParallel.forward"
# A hook of the backward, in which the gradient of a parameter is complete.
HOOKS = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
_ALL_REDUCE = ("c10d::allreduce_", "nccl:all_reduce", "gloo:all_reduce")
# What backends do that work on the host.
ON_HOST = ("gloo:all_reduce", "mpi:all_reduce", "ucc:all_reduce")
_ON_ANY_BACKEND = re.compile(r"(nccl|gloo|mpi|ucc):.*|c10d::\w+")
# Products between two all-reduces: layers split over GPUs, whose results each layer waits for.
_PRODUCTS = (
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul", "aten::linear",
    "aten::convolution", "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::*attention*",
    "aten::embedding",
)  # fmt: skip


class Communication(NamedTuple):
    """Kernels of collectives on a device, and the part of their time when it computes nothing."""

    rows: Rows
    time: Intervals
    exposed: Intervals


def communicates(trace: Trace) -> bool:
    """Tell whether a collective was recorded, by whatever backend."""
    asked = any(map(_ON_ANY_BACKEND.match, trace.names))
    return asked or len(kernels_of_collectives(trace)) > 0


def communications(trace: Trace) -> Iterator[Communication]:
    """Return for each device that ran collectives inside the steps what it spent on them."""
    is_kernel = trace.kind == EventKind.Kernel
    is_collective = np.zeros(len(trace), bool)
    is_collective[kernels_of_collectives(trace)] = True
    for device in np.unique(trace.device[is_collective]).tolist():
        kernels = trace.rows_of_device(device)
        kernels = kernels[is_kernel[kernels]]
        rows = kernels[is_collective[kernels]]
        time = trace.time_of(rows) & trace.step_time
        exposed = time - trace.time_of(kernels[~is_collective[kernels]])
        if len(rows := rows[trace.in_window(rows)]):
            yield Communication(rows, time, exposed)


def ddp_forwards(trace: Trace) -> Rows:
    """Return the forward passes of DistributedDataParallel, by start."""
    rows = tree_rows(trace, DDP_FORWARD)
    on_host = (EventKind.Annotation, EventKind.TorchOp)
    return by_start(trace, rows[np.isin(trace.kind[rows], on_host)])


def without_ddp(trace: Trace) -> Obstacle | None:
    """Say why there are no such forward passes; None where there are."""
    used = len(ddp_forwards(trace)) > 0
    return None if used else NotApplicable("DistributedDataParallel was not used")


def all_reduces(trace: Trace) -> Rows:
    """Return the ops that start an all-reduce, by start; each once, though a backend records it
    again.
    """
    found = (rows for name in _ALL_REDUCE if len(rows := tree_rows(trace, name)))
    return by_start(trace, next(found, np.empty(0, np.int64)))


def runs_of_all_reduces(trace: Trace, fewest: int) -> Iterator[list[Event]]:
    """Return all-reduces that could be one: in a row, or by hooks before one step of an
    optimizer.
    """
    rows = of_gradients(trace, all_reduces(trace))
    in_hook = below(trace, tree_rows(trace, HOOKS)).contains(rows)
    for mine, ends in (
        (rows[in_hook], trace.rows_named("Optimizer.step#*")),
        (rows[~in_hook], trace.rows_named(*_PRODUCTS)),  # on any thread
    ):
        number = np.searchsorted(np.sort(trace.start_ns[ends]), trace.start_ns[mine])
        for each in np.unique(number).tolist():
            run = mine[number == each]
            if len(run) >= fewest:
                yield list(trace.events(run.tolist()))


def time_on_host(trace: Trace, ops: Sequence[Event]) -> Intervals:
    """Return a backend's time on the host from the first of these ops to what follows the last."""
    rows = by_start(trace, trace.rows_named(*ON_HOST))
    asked = np.sort([op.start_ns for op in ops])
    at = np.searchsorted(trace.start_ns[rows], asked)
    return trace.time_of(rows[np.unique(at[at < len(rows)])])


def element_count(op: Event) -> int | None:
    """Tell how many numbers a collective reduces; None where shapes were not recorded."""
    shapes = op.input_shapes[:1]
    if not shapes or not shapes[0]:
        return None
    dims = [shapes[0]] if is_dims(shapes[0]) else list(shapes[0])
    return sum(int(prod(each)) for each in dims)


def exposed_time(trace: Trace, rows: Rows) -> Intervals:
    """Return the time of collectives' kernels in which their devices do nothing else, in the
    window.
    """
    time = Intervals()
    for device in np.unique(trace.device[rows]).tolist():
        mine = rows[trace.device[rows] == device]
        others = np.setdiff1d(trace.rows_of_device(device), mine)
        time = time | (trace.time_of(mine) - trace.time_of(others))
    return time & trace.step_time


def of_gradients(trace: Trace, rows: Rows) -> Rows:
    """Return those of the ops that reduce a gradient as it comes in, or after the backward.

    Left out are those in the backward of a function, as tensor parallelism has them: what follows
    needs their result.
    """
    is_function = has_name(trace, "*Backward*") & ~has_name(trace, "autograd::engine*")
    functions = np.flatnonzero(is_function[trace.name_id[: trace.tree_count]])
    kept: Rows = rows[~below(trace, functions).contains(rows)]
    return kept
