"""TDY906: DistributedDataParallel sends the buffers of the model to all ranks in each forward."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from tidy.finding import Obstacle
from tidy.savings import Edit
from tidy.trace import Event, EventKind, Intervals, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives, launches
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.made_places import module_made_at
from ..evidence.python.op_names import aten
from ..examples import AT, Abstains, Fires, Quiet, launch, looped, under
from ..option import WORTH_A_WARNING, warning_share

_BROADCAST_OPS = re.compile(r"c10d::broadcast_|(nccl|gloo|mpi|ucc):broadcast")
_BROADCAST_WORK = re.compile(r"(void )?nccl\w*Kernel_Broadcast.*")
# What puts buffers into flat memory and takes them out of it: all that happens before the model.
_MOVES = frozenset(
    "c10d::broadcast_ record_param_comms nccl:broadcast gloo:broadcast".split()
) | aten(
    "flatten_dense_tensors unflatten_dense_tensors cat reshape view flatten narrow slice "
    "split split_with_sizes as_strided copy_ empty empty_like zeros detach contiguous"
)

_FORWARD = collectives.DDP_FORWARD
_SENT = launch("c10d::broadcast_ 10us", "ncclDevKernel_Broadcast_RING_LL 20us")
_FLAT = launch("aten::flatten_dense_tensors > aten::cat", "CatArrayBatchedCopy 2us")
_BACK = launch("aten::copy_", "Memcpy DtoD (Device -> Device) 1us", call="cudaMemcpyAsync")
_BUFFERS = _FLAT + _SENT + _BACK * 2
_MODEL = launch("aten::linear > aten::addmm", "gemm 90us")


class BufferBroadcast(Pattern):
    """DistributedDataParallel sends the model's buffers from the first rank to all in each forward.

    What it does: It finds broadcasts at the beginning of the forward passes of
    DistributedDataParallel, before the model computes, in two steps or more. It counts the host's
    time from packing the first buffer to unpacking the last.
    Why it costs: Each buffer is packed, sent and copied back by an op of its own, and a model with
    batch norms has three for each of them. All ranks wait for the first one.
    Example: `DistributedDataParallel(model)` with batch norms in the model, recorded as

        DistributedDataParallel.forward
          aten::flatten_dense_tensors
          c10d::broadcast_  => ncclDevKernel_Broadcast...
          aten::copy_  aten::copy_  ...                     one for each buffer
          aten::conv2d  ...                                 the model

    Instead: Pass `broadcast_buffers=False`. Running statistics are then those of each rank's own
    batches: save and evaluate the model of one rank, or use SyncBatchNorm.
    Cannot see: Whether the ranks' buffers may differ, as they may where they are statistics. It
    says nothing where buffers are sent at the end of a forward (`buffer_comm_location`).
    """

    code = "TDY906"
    fix = "pass broadcast_buffers=False if each rank may keep separate statistics"
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("batch-norms", looped(under(_FORWARD, _BUFFERS, _MODEL), lasts_us=200), 2, AT),
        Quiet("no-buffers", looped(under(_FORWARD, _MODEL))),
        Quiet("the-model-broadcasts", looped(under(_FORWARD, _MODEL, _SENT))),
        Quiet("once", looped(under(_FORWARD, _BUFFERS, _MODEL), count=1)),
        Abstains("outside-of-ddp", looped(_SENT, _MODEL)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return collectives.without_ddp(trace)

    def find(self, trace: Trace) -> Matches:
        for same in places.grouped(_sent(trace), lambda each: each.forward.location):
            starts = [each.forward.start_ns for each in same]
            if not any(loops.Loop(trace).repeated(starts)):
                continue
            for part in places.by_window(same, lambda each: each.forward):
                ends = [(each.ops[0].start_ns, each.ops[-1].end_ns) for each in part]
                time = Intervals(*zip(*ends, strict=True))
                copies = max(sum(op.name == "aten::copy_" for op in each.ops) for each in part)
                forwards = [each.forward for each in part]
                yield Match(
                    forwards,
                    message="buffers are broadcast in each forward"
                    + (f", {copies} tensors of them" if copies else ""),
                    cost=time,
                    edit=_not_sent(trace, part, time),
                    fix_place=module_made_at(trace, forwards),
                )


class _Sent(NamedTuple):
    """The part of a forward before the model."""

    forward: Event
    ops: list[Event]


def _sent(trace: Trace) -> Iterator[_Sent]:
    """The forward passes that begin with a broadcast."""
    broadcasts = launches.rows_matching(trace, _BROADCAST_WORK, "*Kernel_Broadcast*")
    launched = np.sort(trace.start_ns[np.maximum(trace.caller[broadcasts], 0)])
    outermost = cache(partial(_outermost, trace))
    for forward in trace.events(collectives.ddp_forwards(trace)):
        rows = outermost(int(trace.track_id[forward.row]))
        first, last = np.searchsorted(trace.start_ns[rows], (forward.start_ns, forward.end_ns))
        in_forward = trace.events(rows[first:last].tolist())
        ops = list(takewhile(lambda op: op.name in _MOVES, in_forward))
        if not ops:
            continue
        by_kernel = np.searchsorted(launched, (forward.start_ns, ops[-1].end_ns))
        if by_kernel[1] > by_kernel[0] or any(_BROADCAST_OPS.match(op.name) for op in ops):
            yield _Sent(forward, ops)


def _outermost(trace: Trace, track: int) -> Rows:
    """Ops of a thread that are in no op but a forward pass, by start."""
    count = trace.tree_count
    is_forward = np.isin(np.arange(count), collectives.ddp_forwards(trace))
    is_op = (trace.kind[:count] == EventKind.TorchOp) & (trace.track_id[:count] == track)
    rows = launches.outermost_rows(trace, np.flatnonzero(is_op & ~is_forward))
    return launches.by_start(trace, rows)


def _not_sent(trace: Trace, sent: list[_Sent], time: Intervals) -> Edit:
    """The run without the broadcasts: neither their time on the host nor their device work."""
    track = int(trace.track_id[sent[0].forward.row])
    ops = [op for each in sent for op in each.ops]
    known = edits.without_ops(trace, ops, "buffers stay as they are", (0.0, 0.0))
    return Edit(known.model, host={track: time}, work=known.work, waits=known.waits)
