"""The collectives of one rank, from its trace."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..account import OpWork, kernels_of_collectives
from ..account.collective_args import said_of_collectives
from ..account.ranks import collectives_on_host
from ..trace import Rows, Trace
from ..trace.inputs import ITEM_NBYTES, CollectiveArgs, Shape
from .blocked import blocked_on_device, blocked_on_host
from .table import MOST_RANKS, SEND_RECV, Collectives, Ints, ProcessGroup

# `nccl:send 0->1` and `nccl:recv 1<-0`, by their ranks in the group.
_SENDS = re.compile(r"\w+:send (\d{1,9})->(\d{1,9})")
_RECEIVES = re.compile(r"\w+:recv (\d{1,9})<-(\d{1,9})")
_MOST = 1 << 62  # what fits a column, with room to compute in
_POINT_TO_POINT = re.compile(r"\b(send|recv)", re.IGNORECASE)
_NBYTES = {
    "Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Byte": 1, "Char": 1,
    "Bool": 1, "Short": 2, "ComplexHalf": 4, "ComplexFloat": 8,
    "ComplexDouble": 16, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1,
    "Float8_e5m2fnuz": 1,
}  # fmt: skip


def collectives_of(trace: Trace) -> Collectives:
    """Make the table of the collectives of one rank.

    Kernels of collectives with what the operators around their launches say of them; if there are
    none, what Gloo, MPI and UCC recorded of their work on the host.
    """
    rows = kernels_of_collectives(trace)
    on_device = len(rows) > 0
    if not on_device:
        rows = collectives_on_host(trace)
    call = trace.caller[rows].astype(np.int64)
    launched = np.where(call >= 0, trace.start_ns[call], trace.start_ns[rows])
    op = np.where(call >= trace.tree_count, trace.caller[call], call)
    named = np.where(op >= 0, op, rows)
    said, said_of = said_of_collectives(trace, op)
    groups, group = _groups(said, said_of)
    operations, operation, source, target = _operations(trace, named)
    seq = np.array([*(each.seq for each in said), -1], np.int64)[said_of]
    rank, world_size = trace.info.rank or 0, trace.info.world_size or 0
    blocked_ns = (blocked_on_device if on_device else blocked_on_host)(trace, rows)
    step = _steps(trace, launched)
    return Collectives(
        # A number that no job has is as good as none.
        rank=rank if 0 <= rank < MOST_RANKS else 0,
        step=step,
        group=group,
        seq=np.where(seq >= 0, seq, -1),
        operation=operation,
        nbytes=_nbytes(trace, named, said, said_of),
        start_ns=trace.start_ns[rows],
        end_ns=trace.end_ns[rows],
        launch_ns=launched,
        on_device=np.full(len(rows), on_device),
        source=source,
        target=target,
        exposed_ns=_exposed_ns(trace, rows) if on_device else np.full(len(rows), -1, np.int64),
        groups=groups,
        operations=operations,
        world_size=world_size if 0 <= world_size < MOST_RANKS else 0,
        blocked_ns=blocked_ns,
        step_flops=_step_flops(trace, step),
    )


def _groups(said: list[CollectiveArgs], said_of: Ints) -> tuple[tuple[ProcessGroup, ...], Ints]:
    number = dict[ProcessGroup, int]()
    of_said = []
    for each in said:
        # Ranks that are recorded in part tell one group from another, and no more.
        whole = not each.size or len(each.ranks) == each.size
        name = each.group if whole else f"{each.group} from {each.ranks[:1]}"
        group = ProcessGroup(name, each.ranks if whole else (), each.size, each.description)
        of_said.append(number.setdefault(group, len(number)) if each.group else -1)
    return tuple(number), np.array([*of_said, -1], np.int64)[said_of]


def _operations(trace: Trace, named: Rows) -> tuple[tuple[str, ...], Ints, Ints, Ints]:
    """Name the operation of each, and the two ranks of point-to-point operations."""
    used, number = np.unique(trace.name_id[named], return_inverse=True)
    operations = dict[str, int]()
    columns = []
    for name_id in used.tolist():
        name, source, target = trace.names[name_id], -1, -1
        if sends := _SENDS.fullmatch(name):
            source, target = int(sends[1]), int(sends[2])
        elif receives := _RECEIVES.fullmatch(name):
            source, target = int(receives[2]), int(receives[1])
        name = SEND_RECV if _POINT_TO_POINT.search(name) else name
        columns.append((operations.setdefault(name, len(operations)), source, target))
    table = np.array(columns, np.int64).reshape(-1, 3)[number.reshape(-1)]
    return tuple(operations), table[:, 0], table[:, 1], table[:, 2]


def _steps(trace: Trace, launched_ns: Rows) -> Ints:
    steps = sorted((each.start_ns, each.end_ns, min(each.number, _MOST)) for each in trace.steps)
    if not steps:
        return np.full(len(launched_ns), -1, np.int64)
    starts, ends, numbers = (np.array(each, np.int64) for each in zip(*steps, strict=True))
    at = np.searchsorted(starts, launched_ns, side="right") - 1
    return np.where((at >= 0) & (launched_ns < ends[at]), numbers[at], -1)


def _step_flops(trace: Trace, steps: Ints) -> Ints:
    """Add up the operations of products in each of some steps, -1 if not all are known."""
    work = OpWork(trace)
    if not len(work.rows):
        return np.full(len(steps), -1, np.int64)
    numbers, at = np.unique(_steps(trace, trace.start_ns[work.rows]), return_inverse=True)
    flops = np.bincount(at.reshape(-1), work.flops)
    is_unknown = (work.flops <= 0) & ~work.is_empty
    flops[np.bincount(at.reshape(-1), is_unknown) > 0] = -1
    flops = np.append(np.clip(flops, -1, _MOST), -1).astype(np.int64)
    place = np.searchsorted(numbers, steps)
    is_known = (steps >= 0) & (np.append(numbers, -1)[place] == steps)
    return np.where(is_known, flops[place], -1)


def _nbytes(trace: Trace, named: Rows, said: list[CollectiveArgs], said_of: Ints) -> Ints:
    inputs = trace.inputs_id[named].astype(np.int64)
    used, number = np.unique(inputs, return_inverse=True)
    by_inputs = np.array([_size(trace, each) for each in used.tolist()], np.int64)
    of_inputs = by_inputs[number.reshape(-1)] if len(used) else np.full(len(named), -1, np.int64)
    of_said = [min(each.elements * _NBYTES.get(each.dtype, 0), _MOST) or -1 for each in said]
    by_said = np.array([*of_said, -1], np.int64)[said_of]
    return np.where(by_said > 0, by_said, of_inputs)


def _size(trace: Trace, inputs_id: int) -> int:
    """The bytes of the first input that has any, -1 where none is recorded."""
    shapes, dtypes = trace.inputs.shapes(inputs_id), trace.inputs.dtypes(inputs_id)
    for shape, dtype in zip(shapes, dtypes, strict=False):
        if shape and (count := _elements(shape)):
            return min(count * ITEM_NBYTES.get(dtype, 1), _MOST)
    return -1


def _elements(shape: Shape) -> int:
    if any(isinstance(each, tuple) for each in shape):
        return sum(_elements(each) for each in shape if isinstance(each, tuple) and each)
    result = 1
    for each in shape:
        result *= each if isinstance(each, int) else 1
    return result


def _exposed_ns(trace: Trace, rows: Rows) -> Ints:
    """How much of each kernel no other work of its device hides."""
    result = np.full(len(rows), -1, np.int64)
    if trace.info.is_thinned:
        return result
    devices: NDArray[np.int32] = trace.device[rows]
    for device in np.unique(devices).tolist():
        mine = devices == device
        busy = trace.time_of(np.setdiff1d(trace.rows_of_device(device), rows))
        start, end = trace.start_ns[rows[mine]], trace.end_ns[rows[mine]]
        result[mine] = end - start - busy.covered_ns(start, end)
    return result
