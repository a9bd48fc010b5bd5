"""TDY205: many small copies on the device, one call for each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import prod

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Rows, Trace, rows_of
from tidy.trace.location import is_user_file, parse_frame

from ..base import DevicePattern, Match, Matches
from ..evidence.device import collectives, launches
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.op_names import VIEWS, aten
from ..examples import AT, Abstains, Fires, Quiet, joined, launch, looped, on_gpu, steps, under
from ..option import WORTH_A_WARNING, Option, warning_share

# What one copy for all leaves of the calls, and of the work: the data is the same.
_CALLS_LEFT, _WORK_LEFT = (0.02, 0.2), (0.3, 1.0)
_VIEWS = "keep gradients as views of the buffer, or copy with torch._foreach_copy_"
_COLLECTIVES = "c10d::*", "nccl:*", "record_param_comms"
_PACKING = VIEWS | aten("copy_ div_ mul_")
# DistributedDataParallel's and a module's own Python.
_OF_PYTORCH = (
    "*torch/nn/parallel/distributed.py(*): _sync*", "*torch/nn/modules/module.py(*): _apply",
)  # fmt: skip

_COPY = launch(
    "aten::copy_ 9us | float[64], float[64], =False",
    "Memcpy DtoD (Device -> Device) 1us 256B",
    call="cudaMemcpyAsync",
)
_LIBRARY = "/usr/lib/python3/site-packages/deepspeed/runtime/engine.py(9): step"
_ALL_REDUCE = under(
    "c10d::allreduce_ | TensorList[3200] > nccl:all_reduce > cudaLaunchKernel",
    "=> ncclDevKernel_AllReduce 90us",
)
_BUCKET = joined("aten::slice", _COPY) * 50 + _ALL_REDUCE + joined("aten::div_", _COPY * 50)
_LOSS = _COPY * 60 + _ALL_REDUCE.replace("3200", "1")
_SLICED = joined("aten::slice", _COPY)
_LARGE = _COPY.replace("1us 256B", "90us 9000000B")
_UPLOAD = _COPY.replace("DtoD (Device -> Device)", "HtoD (Pageable -> Device)")


class SmallDeviceCopies(DevicePattern):
    """Many small tensors are copied on the GPU one after the other, a call of the host for each.

    What it does: It finds 50 or more copies a step from the GPU to itself that one place of the
    source makes with `copy_` (or by assigning to a slice), in two steps or more, where the call on
    the host takes longer than the copy.
    Why it costs: Each copy takes the host some microseconds and the GPU one or two. The GPU waits
    for the next launch most of the time.
    Example: `for p, q in zip(target.parameters(), model.parameters()): p.copy_(q)`, recorded as

        aten::copy_  => Memcpy DtoD        50 or more a step, shorter than their calls
        aten::copy_  => Memcpy DtoD

    Instead: Copy them together: `torch._foreach_copy_(targets, sources)`, `torch.cat` or
    `torch.stack` of the parts, or one assignment of all rows.
    Around a collective, gradients are packed into a flat buffer and taken out of it: let them be
    views of it (`gradient_as_bucket_view=True` of DistributedDataParallel), then nothing is copied.
    Where no stacks tell whose code packs them that is info, as it may be a library's.
    Cannot see: It leaves out loops that index with a number (TDY404), and what optimizers, the
    autograd engine, compiled code, libraries and DistributedDataParallel copy of their own.
    """

    code = "TDY205"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "copy them together: torch._foreach_copy_, torch.cat or torch.stack"
    fewest_a_step = Option(50, "fewer at one place of a step are not worth a rewrite", least=1)
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("slices", looped(_SLICED * 50, lasts_us=900), events=100, at=AT),
        Fires("parameters", on_gpu(steps(_COPY * 60, count=3, lasts_us=900)), events=180),
        Fires("bucket", looped(_BUCKET, lasts_us=2500), events=200, at=AT),
        Fires("maybe-a-librarys-bucket", on_gpu(steps(_BUCKET)), 300, severity=Severity.INFO),
        Fires("before-the-loss-is-reduced", on_gpu(steps(_LOSS)), events=180),
        Quiet("few", on_gpu(steps(_COPY * 49, count=2))),
        Quiet("in-one-step", on_gpu(steps(_COPY * 60, count=1))),
        Quiet("large-ones", on_gpu(steps(_LARGE * 60, count=2, lasts_us=9000))),
        Quiet("uploads", on_gpu(steps(_UPLOAD * 60, count=2))),
        Quiet("by-index", on_gpu(steps(joined("aten::select", _COPY) * 60, count=2))),
        Quiet("optimizer", on_gpu(steps(under("Optimizer.step#SGD.step", _COPY * 60), count=2))),
        Quiet("library", looped(under(_LIBRARY, _COPY * 60), lasts_us=900)),
        Quiet("ddp", on_gpu(steps(under(f"{collectives.DDP_FORWARD} 900us", _COPY * 60), count=2))),
        Abstains("cpu-run", "aten::copy_\n" * 60),
    )

    def find(self, trace: Trace) -> Matches:
        for same in places.grouped(trace.events(_copies(trace)), places.place_of):
            events = _often(trace, same, self.fewest_a_step) if _is_users(same[0]) else []
            if not events or not _are_short(trace, events):
                continue
            for part in places.by_window(events):
                count = len(part) // max(
                    loops.count_steps(trace, [copy.start_ns for copy in part]), 1
                )
                said = f"{count:,} small copies from the GPU to itself in a step, one by one"
                packs = _packs(trace, part)
                if packs:
                    said += ", into and out of the buffer of a collective"
                is_unknown = packs and part[0].location is None
                yield Match(part, said, severity=Severity.INFO if is_unknown else None)

    def fix_of(self, events: Sequence[Event]) -> str:
        return _VIEWS if _packs(events[0].trace, events) else self.fix

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        host, work = edits.host_time(trace, rows_of(events)), edits.work_of(trace, events)
        return Edit("copied together", host=host, work=work, left=_CALLS_LEFT, work_left=_WORK_LEFT)


def _copies(trace: Trace) -> Rows:
    """`copy_` that Python calls, to the device that it copies from; by none of PyTorch's own loops.

    A copy that follows an index with a number belongs to a loop over a tensor.
    """
    rows = launches.tree_rows(trace, "aten::copy_")
    above = trace.parent[rows]
    in_op = (above >= 0) & (trace.kind[above] == EventKind.TorchOp)
    by_ddp = (above >= 0) & np.isin(above, collectives.ddp_forwards(trace))
    rows = rows[~in_op & ~by_ddp]
    work = trace.device_rows
    kind, names = trace.kind[work], trace.name_id[work]
    stays = launches.has_name(trace, "Memcpy DtoD*", "CopyDeviceToDevice*")[names]
    stays |= kind == EventKind.Kernel
    rows = rows[np.isin(rows, trace.launching_ops(work[stays]))]
    rows = rows[~np.isin(rows, trace.launching_ops(work[~stays]))]
    own = trace.time_of(trace.rows_named("Optimizer.step#*"))
    left_out = own.contains(trace.start_ns[rows]) | _follow_an_index(trace, rows)
    left_out |= launches.below(trace, launches.tree_rows(trace, *_OF_PYTORCH)).contains(rows)
    kept: Rows = rows[~left_out]
    return kept


def _follow_an_index(trace: Trace, rows: Rows) -> NDArray[np.bool_]:
    """For each op whether `aten::select` is the op before it that is in no other op."""
    result = np.zeros(len(rows), bool)
    select_id = trace.strings.names.get("aten::select", -1)
    for track in np.unique(trace.track_id[rows]).tolist():
        ops = launches.ops_in_no_op(trace, track)
        mine = trace.track_id[rows] == track
        before = np.searchsorted(ops, rows[mine]) - 1
        result[mine] = (before >= 0) & (trace.name_id[ops[before]] == select_id)
    return result


def _packs(trace: Trace, events: Sequence[Event]) -> bool:
    """Tell whether a collective of more than one of them is right before or after most copies."""
    rows = rows_of(events)
    ops = launches.ops_in_no_op(trace, int(trace.track_id[rows[0]]))
    names = trace.name_id[ops]
    others = np.flatnonzero(~launches.has_name(trace, *_PACKING)[names])
    sends = np.append(launches.has_name(trace, *_COLLECTIVES)[names[others]], False)
    after = np.searchsorted(others, np.searchsorted(ops, rows))
    near = np.union1d(after, after - 1)
    near = near[sends[near]]
    if np.mean(sends[after] | sends[after - 1]) <= 1 / 2:
        return False
    sent = [collectives.element_count(op) for op in trace.events(ops[others[near]])]
    copied = max(prod(each.input_shapes[0]) if each.input_shapes else 0 for each in events)
    return any(count is None or count > copied for count in sent)


def _is_users(event: Event) -> bool:
    """Tell whether the user's own Python makes a copy, not a library's; yes where nothing tells."""
    calls = (above.name for above in event.ancestors() if above.kind == EventKind.PyCall)
    files = (frame.file for name in calls if (frame := parse_frame(name)) is not None)
    nearest = next(files, None)
    return nearest is None or is_user_file(nearest)


def _often(trace: Trace, events: Sequence[Event], fewest_a_step: int) -> list[Event]:
    """The events in steps that have enough of them; without steps, all where they are many."""
    if not trace.steps:
        return list(events) if len(events) >= loops.FEWEST_STEPS * fewest_a_step else []
    starts = [event.start_ns for event in events]
    enough = loops.steps_with(trace, starts, fewest_a_step)
    if len(enough) < loops.FEWEST_STEPS:
        return []
    kept = np.isin(loops.step_of(trace, starts), list(enough)).tolist()
    return list(compress(events, kept))


def _are_short(trace: Trace, events: Sequence[Event]) -> bool:
    """Tell whether half of the copies take the device less than their calls take the host."""
    work = [trace.duration_ns[trace.device_rows_under(each.row)].sum() for each in events]
    calls = [each.duration_ns for each in events]
    return bool(np.median(work) < np.median(calls))
