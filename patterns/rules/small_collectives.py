"""TDY904: gradients that are reduced one by one, in many small all-reduces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidy.finding import NotApplicable, NotChecked, Obstacle
from tidy.savings import Edit
from tidy.trace import Capability, Event, Rows, Trace, rows_of

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives
from ..evidence.fixes import edits
from ..evidence.python import places
from ..evidence.time.timing import Cost
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, under
from ..option import WORTH_A_WARNING, Option, warning_share

# What stays of the kernels when all is sent at once: the data, without a start for each tensor.
_SENT_AT_ONCE = (0.1, 0.5)

_ONE = launch("c10d::allreduce_ | float[{0}]", "ncclDevKernel_AllReduce 20us")
_SMALL_ONE, _LARGE_ONE = (under(FRAME, _ONE.format(size)) for size in (4096, 9000000))
_DIVIDED = under(FRAME, launch("aten::div_", "div 2us"))
_LAYER = under(FRAME, launch("aten::mm", "gemm 50us"))
_HOOKED, _UPDATE = under(collectives.HOOKS, _ONE.format(64)), "Optimizer.step#SGD.step\n"


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
        16, "a few buckets are as many as it takes to overlap with the backward", least=2
    )
    small_numbers = Option(
        1 << 16, "a ring takes as long for one number as for so many (256 KiB of float32)"
    )
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("one-by-one", on_gpu(joined(_SMALL_ONE, _DIVIDED) * 16), events=16, at=AT),
        Fires("in-hooks", on_gpu(joined(_LAYER, under(FRAME, _HOOKED)) * 20), events=20, at=AT),
        Quiet("few", on_gpu(joined(_SMALL_ONE, _DIVIDED) * 15)),
        Quiet("large-ones", on_gpu(joined(_LARGE_ONE, _DIVIDED) * 16)),
        Quiet("tensor-parallel", on_gpu(joined(_LAYER, _SMALL_ONE) * 32)),
        Quiet("buckets-of-many-steps", on_gpu((_HOOKED * 4 + _UPDATE) * 8)),
        Abstains("no-shapes", on_gpu(_SMALL_ONE * 16).replace(" | float[4096]", "")),
        Abstains("one-process", on_gpu(_LAYER)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(collectives.all_reduces(trace)):
            return NotApplicable("no all-reduce was recorded")
        runs = collectives.runs_of_all_reduces(trace, self.fewest)
        if Capability.SHAPES not in trace.capabilities and any(runs):
            return NotChecked(
                "the trace does not say how much each all-reduce sends",
                trace.info.remedy(Capability.SHAPES),
            )
        return None

    def find(self, trace: Trace) -> Matches:
        runs = filter(self._is_small, collectives.runs_of_all_reduces(trace, self.fewest))
        for events in places.by_line(op for run in runs for op in run):
            work = edits.work_of(trace, events)
            of_host = not len(work)
            time = collectives.time_on_host(trace, events) if of_host else trace.time_of(work)
            time &= trace.step_time
            median = int(np.median([collectives.element_count(op) or 0 for op in events]))
            yield Match(
                events,
                f"gradients are reduced one by one, half of them of {median:,} numbers or less",
                cost=Cost(time, on_device=not of_host),
                edit=None if of_host else _together(trace, events, work),
            )

    def _is_small(self, run: Sequence[Event]) -> bool:
        sizes = [size for op in run if (size := collectives.element_count(op)) is not None]
        return 2 * len(sizes) > len(run) and float(np.median(sizes)) < self.small_numbers


def _together(trace: Trace, events: Sequence[Event], work: Rows) -> Edit:
    host = edits.host_time(trace, rows_of(events))
    left = (1 / len(events), 0.3)
    return Edit("sent together", host=host, work=work, left=left, work_left=_SENT_AT_ONCE)
