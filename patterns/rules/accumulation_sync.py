"""TDY905: gradients that are reduced in each micro-batch of an accumulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tidy.finding import NotApplicable, NotChecked, Obstacle
from tidy.trace import Capability, Event, Intervals, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives, launches
from ..evidence.fixes import edits
from ..evidence.python import places
from ..evidence.time import timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, under
from ..option import WORTH_A_WARNING, warning_share

_STEP, _ZERO = "Optimizer.step#*", "Optimizer.zero_grad#*"
_MODEL = "reduced in the last micro-batch"

_FORWARD = under(f"{FRAME} > {collectives.DDP_FORWARD} 20us", "aten::linear")
_HOOK = f"{FRAME} > autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
_REDUCED = under(_HOOK, launch("c10d::allreduce_ | float[4096]", "ncclDevKernel_AllReduce 50us"))
_OTHER = under(_HOOK, launch("c10d::allreduce_ | float[64]", "ncclDevKernel_AllReduce 50us"))
_UPDATE = "Optimizer.step#SGD.step\n"
_ALONE = under(_HOOK, "aten::add_")


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
        Fires(
            "two-micro-batches",
            on_gpu(joined(_FORWARD, _REDUCED, _FORWARD, _REDUCED, _UPDATE) * 2),
            events=2,
            at=AT,
        ),
        Quiet("no-sync", on_gpu(joined(_FORWARD, _ALONE, _FORWARD, _REDUCED, _UPDATE) * 2)),
        Quiet("each-step", on_gpu(joined(_FORWARD, _REDUCED, _UPDATE) * 4)),
        Quiet("one-loss-of-two-forwards", on_gpu(joined(_FORWARD, _FORWARD, _REDUCED, _UPDATE))),
        Quiet("two-models", on_gpu(joined(_FORWARD, _REDUCED, _FORWARD, _OTHER, _UPDATE) * 2)),
        Quiet(
            "zeroed-in-between",
            on_gpu(
                joined(_FORWARD, _REDUCED, "Optimizer.zero_grad#SGD", _FORWARD, _REDUCED, _UPDATE)
            ),
        ),
        Abstains("no-ddp", on_gpu(joined("aten::linear", _REDUCED, _UPDATE))),
        Abstains(
            "no-shapes",
            on_gpu(joined(_FORWARD, _REDUCED, _FORWARD, _REDUCED, _UPDATE)).replace(
                " | float[4096]", ""
            ),
        ),
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
                Capability.SHAPES.remedy,
            )
        return None

    def find(self, trace: Trace) -> Matches:
        needless = [op for passes in _repeated(trace) for op in passes]
        for events in places.by_line(needless):
            work = edits.work_of(trace, events)
            time = collectives.exposed_time(trace, work) if len(work) else _on_host(trace, events)
            share = trace.step_share(time) or 0.0
            yield Match(
                events,
                message="gradients are reduced in each micro-batch, and used after the last one",
                cost=timing.Cost(time, share >= self.warning_from, on_device=len(work) > 0),
                edit=edits.without_ops(trace, events, _MODEL, (0.0, 0.0)) if len(work) else None,
            )


class _Pass(NamedTuple):
    """A forward of DistributedDataParallel and the gradients reduced after it."""

    module: str
    start_ns: int
    ops: list[Event]

    @property
    def sizes(self) -> tuple[int | None, ...]:
        return tuple(collectives.element_count(op) for op in self.ops)


def _repeated(trace: Trace) -> Iterator[list[Event]]:
    """The all-reduces of all micro-batches but the last, for each step of an optimizer."""
    zeroed = np.sort(trace.start_ns[trace.rows_named(_ZERO)])
    for passes in _by_step(trace):
        *before, last = passes
        alike = [
            each.ops
            for each in before
            if (each.module, each.sizes) == (last.module, last.sizes)
            and not np.diff(np.searchsorted(zeroed, (each.start_ns, last.start_ns)))[0]
        ]
        if alike:
            yield [op for ops in alike for op in ops]


def _by_step(trace: Trace) -> Iterator[list[_Pass]]:
    """The passes that reduce gradients before each step of an optimizer, by start."""
    forwards = collectives.ddp_forwards(trace)
    reduces = collectives.of_gradients(trace, collectives.all_reduces(trace))
    starts = trace.start_ns[reduces]
    number = np.searchsorted(trace.start_ns[forwards], starts, side="right") - 1
    after = (number >= 0) & (starts >= trace.end_ns[forwards[np.maximum(number, 0)]])
    updates = np.sort(trace.start_ns[trace.rows_named(_STEP)])
    update = np.searchsorted(updates, starts)
    after &= update < len(updates)
    steps: dict[int, dict[int, list[Event]]] = {}
    columns = (each[after].tolist() for each in (update, number, reduces))
    for step, which, row in zip(*columns, strict=True):
        steps.setdefault(step, {}).setdefault(which, []).append(trace.event(row))
    for passes in steps.values():
        yield [
            _Pass(_module(trace.event(forwards[which])), int(trace.start_ns[forwards[which]]), ops)
            for which, ops in passes.items()
        ]


def _module(forward: Event) -> str:
    """The module whose forward it is; "" where no Python stacks tell."""
    names = (above.name for above in forward.ancestors())
    return next((name for name in names if name.startswith("nn.Module: Distributed")), "")


def _on_host(trace: Trace, events: list[Event]) -> Intervals:
    """Return the backend's time on the host for these in which the thread that asked runs no op."""
    rows = trace.rows_named(*collectives.ON_HOST)
    asked = np.sort([event.start_ns for event in events])
    at = np.searchsorted(asked, trace.start_ns[rows], side="right") - 1
    forwards = trace.start_ns[collectives.ddp_forwards(trace)]
    of_these = at >= 0
    last = asked[np.maximum(at, 0)]
    of_these &= np.searchsorted(forwards, trace.start_ns[rows]) == np.searchsorted(forwards, last)
    track = int(trace.track_id[events[0].row])
    ops = launches.ops_in_no_op(trace, track)
    return (trace.time_of(rows[of_these]) - trace.time_of(ops)) & trace.step_time
