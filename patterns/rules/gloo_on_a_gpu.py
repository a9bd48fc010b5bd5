"""TDY908: gradients of a GPU that Gloo reduces."""

from __future__ import annotations

from tidy.finding import NotApplicable, Obstacle
from tidy.trace import Capability, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, launches
from ..evidence.python import loops, places
from ..examples import AT, WORK, Abstains, Fires, Quiet, copy, launch, looped, on_gpu, steps, under
from ..option import EASY_WARNING, warning_share

_COLLECTIVES = ("gloo:all_reduce*", "gloo:allreduce*", "gloo:reduce_scatter*", "gloo:all_gather*")
_OF_NCCL = ("nccl*", "*ncclKernel*", "*ncclDevKernel*", "rccl*", "*rccl_main_kernel*")
_FORWARD = "DistributedDataParallel.forward"
_NOT_DISTRIBUTED = NotApplicable("nothing was reduced by Gloo in this run")

_REDUCED = under(
    "gloo:all_reduce 90us",
    copy("DtoH (Device -> Pinned) 20us 1048576B"),
    copy("HtoD (Pinned -> Device) 20us 1048576B"),
)
_ON_DEVICE = launch("aten::add_", "gloo:all_reduce 40us")
_STEP = _FORWARD + " 9us\n" + WORK


class GlooOnAGpu(DevicePattern):
    """DistributedDataParallel reduces the gradients of GPUs with Gloo, by way of the CPU.

    What it does: It finds collectives of Gloo in two steps or more, where DistributedDataParallel
    runs on a GPU, gradients are copied from the GPU and back, and nothing goes by NCCL or RCCL.
    Why it costs: Each bucket of gradients is copied to the CPU, added up there over the network,
    and copied back. NCCL goes from GPU to GPU.
    Example: `dist.init_process_group("gloo")` in a job on GPUs, recorded as

        DistributedDataParallel.forward
        gloo:all_reduce
          => Memcpy DtoH, Memcpy HtoD
        NOT any nccl:all_reduce

    Instead: `torch.distributed.init_process_group("nccl")`, also on AMD, where that is RCCL; for
    tensors of both, `"cpu:gloo,cuda:nccl"`.
    Cannot see: It misses MPI, and jobs in which NCCL reduces something else.
    """

    code = "TDY908"
    needs = frozenset({Capability.DEVICE})
    fix = 'init_process_group("nccl"), or "cpu:gloo,cuda:nccl" for tensors of both'
    why_no_edit = "how long NCCL would take is not in the trace"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("each-step", looped(_STEP, _REDUCED, count=3, lasts_us=400), events=3, at=AT),
        Fires("ranges-too", looped(_STEP, _REDUCED, _ON_DEVICE, count=3, lasts_us=400), 3, AT),
        Quiet("beside-nccl", looped(_STEP, _REDUCED, "nccl:all_reduce", count=3)),
        Quiet("without-copies", looped(_STEP, "gloo:all_reduce 90us", count=3)),
        Quiet("no-data-parallelism", looped(WORK, _REDUCED, count=3)),
        Quiet("a-barrier", on_gpu(steps(_STEP, "gloo:barrier", _REDUCED[:0]), _REDUCED)),
        Abstains("no-gloo", on_gpu(steps(_STEP, "nccl:all_reduce 90us"))),
        Abstains("cpu-run", steps(_FORWARD, "gloo:all_reduce", count=2)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return None if len(trace.rows_named("gloo:*")) else _NOT_DISTRIBUTED

    def find(self, trace: Trace) -> Matches:
        rows = launches.tree_rows(trace, *_COLLECTIVES)  # a range shows on the device, too
        if len(trace.rows_named(*_OF_NCCL)) or not len(trace.rows_named(_FORWARD)):
            return
        if loops.count_steps(trace, trace.start_ns[rows]) < loops.FEWEST_STEPS:
            return
        if not all(len(copies.copy_rows(trace, way)) for way in ("DtoH", "HtoD")):
            return
        for events in places.by_line(trace.events(rows)):
            yield Match(events, message="gradients of the GPU are reduced by Gloo, on the CPU")
