"""TDY901: collectives that no computation hides."""

from __future__ import annotations

from tidy.account import kernels_of_collectives
from tidy.finding import NotApplicable, Obstacle, Severity
from tidy.trace import Capability, Events, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import collectives
from ..evidence.time.timing import Cost
from ..examples import AT, FRAME, Abstains, Fires, Quiet, launch, on_gpu, under
from ..option import LARGE_INFO, LARGE_WARNING, warning_share, word_share

_ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL 80us"
_OLD = launch("c10d::allreduce_ 90us", "ncclKernel_AllReduce_Sum_float(ncclDevComm*) 30us")
_CUSTOM = launch("vllm::all_reduce 90us", "void vllm::cross_device_reduce_1stage<float, 8> 80us")
_BROADCAST = launch("nccl:broadcast 100us", "ncclDevKernel_Broadcast_RING_LL 90us")
_WORK = launch("aten::mm", "gemm 40us")


def _step(us: int, *parts: str) -> str:
    return on_gpu(under(f"ProfilerStep#1 {us}us", *parts), frame=FRAME)


class ExposedCommunication(DevicePattern):
    """Collectives run on the GPU while it computes nothing, for much of the step.

    What it does: It finds how long kernels of collectives (of NCCL, RCCL, or a framework's own) run
    while no other kernel runs on any stream of the same device. It is info from 5 % of the step, a
    warning from 10 %; with several devices in one process, of the one that waits most.
    Why it costs: The GPU could compute meanwhile. The cost is the time in which nothing else runs.
    Example: Gradients that are reduced when backward is over, recorded as

        => ncclDevKernel_..., rccl_..., cross_device_reduce_...    on one stream
        NOT any other kernel                                       on any stream of the same device

    Instead: Overlap it with the backward pass (DistributedDataParallel does; `static_graph=True`,
    `bucket_cap_mb`), use `no_sync()` while accumulating gradients, bfloat16 gradients, or larger
    batches, and look at the ranks that come last.
    Cannot see: It misses Gloo and MPI, which run on the host, and copies between GPUs. A collective
    ends when its last rank has come, so one trace cannot tell a slow network from a slow rank.
    """

    code = "TDY901"
    needs = frozenset({Capability.DEVICE})
    why_no_edit = "how much of it waits for other ranks, or can be hidden, is not known"
    fix = "overlap it with the backward pass, send less (no_sync, bf16), balance the ranks"
    worth_a_word = word_share(LARGE_INFO, "communication")
    warning_from = warning_share(LARGE_WARNING)
    examples = (
        Fires("all-reduce", _step(200, _WORK, launch("nccl:all_reduce 90us", _ALL_REDUCE)), at=AT),
        Fires("small-share", _step(400, _OLD), at=AT, severity=Severity.INFO),
        Fires("of-a-framework", _step(200, _WORK, _CUSTOM), at=AT),
        Quiet("overlapped", _step(200, launch("aten::mm 2us", _ALL_REDUCE, "gemm 80us"))),
        Quiet("before-the-steps", on_gpu(_BROADCAST, under("ProfilerStep#1 200us", _WORK))),
        Abstains("one-gpu", on_gpu(_WORK)),
        Abstains("cpu-run", "gloo:all_reduce 40us"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        ran = len(kernels_of_collectives(trace)) > 0
        return None if ran else NotApplicable("no kernel of a collective ran")

    def find(self, trace: Trace) -> Matches:
        found = collectives.communications(trace)
        worst = max(found, key=lambda each: each.exposed.total_ns, default=None)
        share = (trace.step_share(worst.exposed) or 0.0) if worst else 0.0
        if worst is None or share < self.worth_a_word:
            return
        hidden = 1 - worst.exposed.total_ns / worst.time.total_ns
        events = Events(trace, worst.rows)
        yield Match(
            events,
            message=f"the GPU only communicates in {share:.0%} of {trace.window.whole}; "
            f"{hidden:.0%} of the communication is hidden",
            location=max(events, key=lambda event: event.duration_ns).location,
            cost=Cost(worst.exposed, on_device=True),
        )
