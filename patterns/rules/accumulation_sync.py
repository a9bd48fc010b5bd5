"""TDY905: gradients that are reduced in each micro-batch of an accumulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotApplicable, NotChecked, Obstacle
from tidy.trace import Capability, Event, Intervals, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives, launches
from ..evidence.fixes import edits
from ..evidence.python import places
from ..evidence.time import timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, launch, on_gpu, under
from ..option import WORTH_A_WARNING, warning_share

_STEP, _ZERO = "Optimizer.step#*", "Optimizer.zero_grad#*"
_MODEL = "reduced in the last micro-batch"

_FORWARD = under(f"{FRAME} > {collectives.DDP_FORWARD} 20us", "aten::linear")
_HOOK = f"{FRAME} > autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
_REDUCED = under(_HOOK, launch("c10d::allreduce_ | float[4096]", "ncclDevKernel_AllReduce 50us"))
_OTHER = under(_HOOK, launch("c10d::allreduce_ | float[64]", "ncclDevKernel_AllReduce 50us"))
_UPDATE = "Optimizer.step#SGD.step\n"
_ALONE = under(_HOOK, "aten::add_")
_BATCH = _FORWARD + _REDUCED


class AccumulationSync(Pattern):
    """Gradients are sent to all ranks in each micro-batch, and used after the last one.

    What it does: It looks at the passes of DistributedDataParallel between two steps of the
    optimizer. Where two or more of them, of the same module and without `zero_grad()` in between,
    reduce as many gradients of the same sizes, all but the last need not.
    Why it costs: The same amount goes over the network again for each micro-batch. The cost is the
    time in which the GPU does nothing but communicate for it.
    Example: Four micro-batches a step without `no_sync()`, recorded as

        DistributedDataParallel.forward
        c10d::allreduce_                       in the backward of each micro-batch
        DistributedDataParallel.forward
        c10d::allreduce_
        Optimizer.step#AdamW.step

    Instead: Run all micro-batches but the last in `with model.no_sync():`, forward and backward.
    Cannot see: FSDP, which keeps only shards of the gradients: reducing in each micro-batch is how
    it saves memory, and it is not reported.
    """

    code = "TDY905"
    why_no_edit = "how long the backward waits for a collective on the host is not in the trace"
    fix = "run all micro-batches but the last in: with model.no_sync()"
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("two-micro-batches", on_gpu((_BATCH * 2 + _UPDATE) * 2), events=2, at=AT),
        Quiet("no-sync", on_gpu((_FORWARD + _ALONE + _BATCH + _UPDATE) * 2)),
        Quiet("each-step", on_gpu((_BATCH + _UPDATE) * 4)),
        Quiet("one-loss-of-two-forwards", on_gpu(_FORWARD, _BATCH, _UPDATE)),
        Quiet("two-models", on_gpu((_BATCH + _FORWARD + _OTHER + _UPDATE) * 2)),
        Quiet("zeroed-in-between", on_gpu(_BATCH, "Optimizer.zero_grad#SGD", _BATCH, _UPDATE)),
        Abstains("no-ddp", on_gpu("aten::linear", _REDUCED, _UPDATE)),
        Abstains("no-shapes", on_gpu(_BATCH * 2, _UPDATE).replace(" | float[4096]", "")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if (unused := collectives.without_ddp(trace)) is not None:
            return unused
        if not len(trace.rows_named(_STEP)):
            return NotApplicable("no step of an optimizer was recorded")
        unknown = Capability.SHAPES not in trace.capabilities and next(_repeated(trace), None)
        if unknown:
            return NotChecked(
                "without shapes the gradients of several models look like those of micro-batches",
                trace.info.remedy(Capability.SHAPES),
            )
        return None

    def find(self, trace: Trace) -> Matches:
        for events in places.by_line(_repeated(trace)):
            work = edits.work_of(trace, events)
            time = collectives.exposed_time(trace, work) if len(work) else _on_host(trace, events)
            yield Match(
                events,
                message="gradients are reduced in each micro-batch, and used after the last one",
                cost=timing.Cost(time, on_device=len(work) > 0),
                edit=edits.without_ops(trace, events, _MODEL, (0.0, 0.0)) if len(work) else None,
            )


def _repeated(trace: Trace) -> Iterator[Event]:
    """The all-reduces of all micro-batches but the last, for each step of an optimizer."""
    forwards = collectives.ddp_forwards(trace)
    reduces = collectives.of_gradients(trace, collectives.all_reduces(trace))
    starts = trace.start_ns[reduces]
    number = np.searchsorted(trace.start_ns[forwards], starts, side="right") - 1
    after = (number >= 0) & (starts >= trace.end_ns[forwards[number]])
    updates, zeroed = (np.sort(trace.start_ns[trace.rows_named(name)]) for name in (_STEP, _ZERO))
    update = np.searchsorted(updates, starts)
    after &= update < len(updates)
    steps: dict[int, dict[int, list[Event]]] = {}
    columns = (each[after].tolist() for each in (update, forwards[number], reduces))
    for step, forward, row in zip(*columns, strict=True):
        steps.setdefault(step, {}).setdefault(forward, []).append(trace.event(row))
    for reduced in steps.values():
        passes = [(_alike(trace.event(row), ops, zeroed), ops) for row, ops in reduced.items()]
        *before, (last, _) = passes
        yield from (op for each, ops in before if each == last for op in ops)


def _alike(forward: Event, ops: list[Event], zeroed_ns: NDArray[np.int64]) -> tuple[object, ...]:
    """What passes over one module share that add to the same gradients."""
    names = (above.name for above in forward.ancestors())
    module = next((name for name in names if name.startswith("nn.Module: Distributed")), "")
    zeroed = int(np.searchsorted(zeroed_ns, forward.start_ns))
    return module, zeroed, *map(collectives.element_count, ops)


def _on_host(trace: Trace, events: list[Event]) -> Intervals:
    """Return the backend's time on the host for these in which the thread that asked runs no op."""
    rows = trace.rows_named(*collectives.ON_HOST)
    asked = np.sort([event.start_ns for event in events])
    at = np.searchsorted(asked, trace.start_ns[rows], side="right") - 1
    forwards = trace.start_ns[collectives.ddp_forwards(trace)]
    same = np.searchsorted(forwards, trace.start_ns[rows]) == np.searchsorted(forwards, asked[at])
    ops = launches.ops_in_no_op(trace, int(trace.track_id[events[0].row]))
    return (trace.time_of(rows[(at >= 0) & same]) - trace.time_of(ops)) & trace.step_time
