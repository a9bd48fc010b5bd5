"""TDY906: DistributedDataParallel sends the buffers of the model to all ranks in each forward."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tidy.finding import Obstacle
from tidy.savings import Edit
from tidy.trace import Event, EventKind, Intervals, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives, launches
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.op_names import aten
from ..examples import AT, FRAME, Abstains, Fires, Quiet, launch, on_gpu, steps, under
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

_FORWARD = f"{FRAME} > {collectives.DDP_FORWARD}"
_SENT = launch("c10d::broadcast_ 10us", "ncclDevKernel_Broadcast_RING_LL 20us")
_FLAT = launch("aten::flatten_dense_tensors > aten::cat", "CatArrayBatchedCopy 2us")
_BACK = launch("aten::copy_", "Memcpy DtoD (Device -> Device) 1us", call="cudaMemcpyAsync")
_MODEL = launch("aten::linear > aten::addmm", "gemm 90us")


class BufferBroadcast(Pattern):
    """DistributedDataParallel sends the model's buffers from the first rank to all in each forward.

    What it does: It finds broadcasts at the beginning of the forward passes of
    DistributedDataParallel, before the model computes, in two steps or more. What it counts is the
    time of the host from the first buffer that is packed to the last that is unpacked.
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
    fix = "pass broadcast_buffers=False, where ranks may keep statistics of their own"
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires(
            "batch-norms",
            on_gpu(
                steps(under(_FORWARD, _FLAT, _SENT, _BACK, _BACK, _MODEL), count=2, lasts_us=200)
            ),
            events=2,
            at=AT,
        ),
        Quiet("no-buffers", on_gpu(steps(under(_FORWARD, _MODEL), count=2))),
        Quiet("the-model-broadcasts", on_gpu(steps(under(_FORWARD, _MODEL, _SENT), count=2))),
        Quiet("once", on_gpu(steps(under(_FORWARD, _FLAT, _SENT, _BACK, _MODEL), count=1))),
        Abstains("outside-of-ddp", on_gpu(steps(under(FRAME, _SENT, _MODEL), count=3))),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return collectives.without_ddp(trace)

    def find(self, trace: Trace) -> Matches:
        for same in places.grouped(_sent(trace), lambda each: each.forward.location):
            starts = [each.forward.start_ns for each in same]
            if not any(loops.Loop(trace).repeated(starts)):
                continue
            for part in places.by_window(same, lambda each: each.forward):
                time = Intervals([x.start_ns for x in part], [x.end_ns for x in part])
                copies = max(each.copied for each in part)
                yield Match(
                    [each.forward for each in part],
                    message="buffers are broadcast in each forward"
                    + (f", {copies} tensors of them" if copies else ""),
                    cost=time,
                    edit=_not_sent(trace, part, time),
                )


class _Sent(NamedTuple):
    """The part of a forward before the model: from when to when, and what is copied back."""

    forward: Event
    start_ns: int
    end_ns: int
    ops: tuple[Event, ...]
    copied: int


def _sent(trace: Trace) -> Iterator[_Sent]:
    """The forward passes that begin with a broadcast."""
    broadcasts = launches.rows_matching(trace, _BROADCAST_WORK, "*Kernel_Broadcast*")
    launched = np.sort(trace.start_ns[np.maximum(trace.caller[broadcasts], 0)])
    on_thread = dict[int, Rows]()
    for forward in trace.events(collectives.ddp_forwards(trace)):
        track = int(trace.track_id[forward.row])
        if track not in on_thread:
            on_thread[track] = launches.by_start(trace, _outermost(trace, track))
        rows = on_thread[track]
        first, last = np.searchsorted(trace.start_ns[rows], (forward.start_ns, forward.end_ns))
        ops = _before_the_model(trace.events(rows[first:last].tolist()))
        if not ops:
            continue
        start_ns, end_ns = ops[0].start_ns, ops[-1].end_ns
        by_kernel = np.searchsorted(launched, (forward.start_ns, end_ns))
        sends = by_kernel[1] > by_kernel[0] or any(_BROADCAST_OPS.match(op.name) for op in ops)
        if sends:
            copied = sum(op.name == "aten::copy_" for op in ops)
            yield _Sent(forward, start_ns, end_ns, tuple(ops), copied)


def _outermost(trace: Trace, track: int) -> Rows:
    """Ops of a thread that are in no other op, where the forward pass itself is none."""
    count = trace.tree_count
    is_forward = np.isin(np.arange(count), collectives.ddp_forwards(trace))
    is_op = (trace.kind[:count] == EventKind.TorchOp) & (trace.track_id[:count] == track)
    return launches.outermost_rows(trace, np.flatnonzero(is_op & ~is_forward))


def _before_the_model(ops: Iterable[Event]) -> list[Event]:
    """The ops at the beginning of a forward that only pack, send and unpack."""
    found = []
    for op in ops:
        if op.name not in _MOVES:
            break
        found.append(op)
    return found


def _not_sent(trace: Trace, sent: list[_Sent], time: Intervals) -> Edit:
    """The run without the broadcasts: neither their time on the host nor their device work."""
    track = int(trace.track_id[sent[0].forward.row])
    ops = [op for each in sent for op in each.ops]
    known = edits.without_ops(trace, ops, "buffers stay as they are", (0.0, 0.0))
    return Edit(known.model, host={track: time}, work=known.work, waits=known.waits)
