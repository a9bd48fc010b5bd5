"""TDY904: gradients that are reduced one by one, in many small all-reduces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, NotApplicable, NotChecked, Obstacle
from tidy.replay import Edit
from tidy.trace import Capability, Event, Intervals, Trace, rows_of

from ..base import Pattern
from ..evidence import collectives, edits, launches, places, timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, under
from ..option import Option, warning_share

# What stays of the kernels when all is sent at once: the data, without a start for each tensor.
_SENT_AT_ONCE = (0.1, 0.5)
# Products between two all-reduces: layers split over GPUs, whose results each layer waits for.
_PRODUCTS = (
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul", "aten::linear",
    "aten::convolution", "aten::conv?d", "aten::*attention*", "aten::embedding",
)  # fmt: skip
_HOOKS = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"

_ONE = launch("c10d::allreduce_ | float[{0}]", "ncclDevKernel_AllReduce 20us")
_SMALL_ONE, _LARGE_ONE = (under(FRAME, _ONE.format(size)) for size in (4096, 9000000))
_DIVIDED = under(FRAME, launch("aten::div_", "div 2us"))
_LAYER = under(FRAME, launch("aten::mm", "gemm 50us"))


class SmallCollectives(Pattern):
    """Gradients go to the other ranks one by one, where they could go together.

    What it does: It finds 16 or more all-reduces, half of them of less than 65,536 numbers, that
    follow one another without a product between them, or that hooks of the backward start before
    one step of the optimizer.
    Why it costs: Each has a call, a launch and a round of messages among all ranks, tens of
    microseconds, in which next to nothing is sent.
    Example: `for p in model.parameters(): dist.all_reduce(p.grad)`, recorded as

        c10d::allreduce_  => ncclDevKernel_AllReduce...
        aten::div_
        c10d::allreduce_  => ncclDevKernel_AllReduce...       16 or more, of 256 KiB or less

    Instead: Let DistributedDataParallel lay them into buckets (`bucket_cap_mb`, 25 by default), or
    flatten them into one tensor, or use `torch.distributed.all_reduce_coalesced`.
    Cannot see: It leaves out tensor parallelism, where each layer needs the sum before it goes on,
    and collectives of other kinds.
    """

    code = "TDY904"
    why_no_edit = "how long the host waits for a collective of its own is not in the trace"
    fix = "reduce them together: DistributedDataParallel's buckets, or one flat tensor"
    fewest = Option(
        16,
        "a few buckets are as many as it takes to overlap with the backward",
        least=2,
    )
    small_numbers = Option(
        1 << 16,
        "below this many numbers (256 KiB of float32) a ring takes as long for one as for all"
        " of them",
    )
    warning_from = warning_share(timing.WORTH_A_WARNING)
    examples = (
        Fires("one-by-one", on_gpu(joined(_SMALL_ONE, _DIVIDED) * 16), events=16, at=AT),
        Fires(
            "in-hooks",
            on_gpu(joined(_LAYER, under(f"{FRAME} > {_HOOKS}", _ONE.format(64))) * 20),
            events=20,
            at=AT,
        ),
        Quiet("few", on_gpu(joined(_SMALL_ONE, _DIVIDED) * 15)),
        Quiet("large-ones", on_gpu(joined(_LARGE_ONE, _DIVIDED) * 16)),
        Quiet("tensor-parallel", on_gpu(joined(_LAYER, _SMALL_ONE) * 32)),
        Quiet(
            "buckets-of-many-steps",
            on_gpu((under(_HOOKS, _ONE.format(64)) * 4 + "Optimizer.step#SGD.step\n") * 8),
        ),
        Abstains("no-shapes", on_gpu(_SMALL_ONE * 16).replace(" | float[4096]", "")),
        Abstains("one-process", on_gpu(_LAYER)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(collectives.all_reduces(trace)):
            return NotApplicable("no all-reduce was recorded")
        if Capability.SHAPES not in trace.capabilities and any(_runs(trace, self.fewest)):
            return NotChecked(
                "the trace does not say how much each all-reduce sends", Capability.SHAPES.remedy
            )
        return None

    def check(self, trace: Trace) -> Iterable[Finding]:
        small = [op for run in _runs(trace, self.fewest) if self._is_small(run) for op in run]
        for events in places.by_line(small):
            work = edits.work_of(trace, events)
            time = (trace.time_of(work) if len(work) else _on_host(trace, events)) & trace.step_time
            share = trace.step_share(time) or 0.0
            sizes = [collectives.element_count(op) or 0 for op in events]
            yield self.report(
                trace,
                events,
                message=(
                    f"gradients are reduced one by one, half of them of"
                    f" {int(np.median(sizes)):,} numbers or less"
                ),
                cost=timing.Cost(time, share >= self.warning_from, on_device=len(work) > 0),
                edit=_together(trace, events, work) if len(work) else None,
            )

    def _is_small(self, run: Sequence[Event]) -> bool:
        sizes = [size for op in run if (size := collectives.element_count(op)) is not None]
        return 2 * len(sizes) > len(run) and float(np.median(sizes)) < self.small_numbers


def _runs(trace: Trace, fewest: int) -> Iterator[list[Event]]:
    """All-reduces that could be one: in a row, or by hooks before one step of an optimizer."""
    rows = collectives.of_gradients(trace, collectives.all_reduces(trace))
    hooks = launches.tree_rows(trace, _HOOKS)
    in_hook = Intervals(hooks, trace.subtree_end[hooks]).contains(rows)
    updates = np.sort(trace.start_ns[trace.rows_named("Optimizer.step#*")])
    for mine, number in (
        (rows[in_hook], np.searchsorted(updates, trace.start_ns[rows[in_hook]])),
        (rows[~in_hook], _products_before(trace, rows[~in_hook])),
    ):
        for each in np.unique(number).tolist():
            run = mine[number == each]
            if len(run) >= fewest:
                yield list(trace.events(run.tolist()))


def _products_before(trace: Trace, rows: launches.Rows) -> NDArray[np.int64]:
    """For each op how many products start before it, on any thread."""
    products = trace.rows_named(*(name.replace("?", each) for name in _PRODUCTS for each in "123"))
    before: NDArray[np.int64] = np.searchsorted(
        np.sort(trace.start_ns[products]), trace.start_ns[rows]
    )
    return before


def _on_host(trace: Trace, events: Sequence[Event]) -> Intervals:
    """When a backend works on the host between the first of these ops and what follows the last."""
    backend = ("gloo:all_reduce", "mpi:all_reduce", "ucc:all_reduce")
    rows = launches.by_start(trace, trace.rows_named(*backend))
    asked = np.sort([event.start_ns for event in events])
    at = np.searchsorted(trace.start_ns[rows], asked)
    return trace.time_of(rows[np.unique(at[at < len(rows)])])


def _together(trace: Trace, events: Sequence[Event], work: launches.Rows) -> Edit:
    host = edits.host_time(trace, rows_of(events))
    left = (1 / len(events), 0.3)
    return Edit("sent together", host=host, work=work, left=left, work_left=_SENT_AT_ONCE)
