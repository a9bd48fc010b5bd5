"""TDY903: DataParallel where DistributedDataParallel would do."""

from __future__ import annotations

from dataclasses import replace

from tidy.finding import NotApplicable, Obstacle
from tidy.trace import Capability, Event, EventKind, Trace, rows_of

from ..base import Matches, Pattern
from ..evidence.device import copies, obstacles
from ..evidence.python.made_places import module_made_at
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, copy, on_gpu, under

_SAID = "DataParallel copies the model to every GPU in each step, from one process"

_SECOND = "# device 1 NVIDIA A100 8.0"
_FORWARD = f"{FRAME} > DataParallel.forward 90us"
_PEER_COPY = copy("PtoP (Device -> Device) 5us 1024B", op="Scatter")


class DataParallel(Pattern):
    """`DataParallel` drives several GPUs from one process, and copies the model in every step.

    What it does: It finds forward passes of `DataParallel` in runs where two devices work or that
    copy from GPU to GPU. It is quiet where the module got one device only, and copies nothing.
    Why it costs: The model is sent to all GPUs in every forward pass, gradients come back to the
    first one, and the threads that launch the work share one interpreter.
    Example: `model = nn.DataParallel(model)`, recorded as

        DataParallel.forward
        work on two devices or more, or copies from GPU to GPU

    Instead: Use `DistributedDataParallel`, one process a GPU (`torchrun`); it pays on one machine
    too.
    Cannot see: It misses replicas made by hand.
    """

    code = "TDY903"
    needs = frozenset[Capability]()
    triggers = frozenset({"DataParallel.forward"})
    why_no_edit = "a step with a process for each GPU is not in the trace"
    fix = "DistributedDataParallel, one process a GPU: torchrun --nproc-per-node=N"
    examples = (
        Fires("peer-copies", on_gpu(_SECOND, under(_FORWARD, _PEER_COPY, WORK)), at=AT),
        Quiet("one-device", on_gpu(_SECOND, under(_FORWARD, WORK))),
        Quiet("distributed", on_gpu(under("DistributedDataParallel.forward 90us", WORK))),
        Abstains("cpu-run", "DataParallel.forward 90us"),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        obstacle = obstacles.without_device(trace)
        used = len(trace.rows_named(*self.triggers)) > 0
        return obstacle if used or isinstance(obstacle, NotApplicable) else None

    def find(self, trace: Trace) -> Matches:
        # How much of this another process a GPU would take is not known: at most all of it.
        for match in super().find(trace):
            time = trace.time_of(rows_of(match.events))
            made = module_made_at(trace, match.events)
            yield replace(match, cost=time, message=_SAID, fix_place=made)

    def match(self, event: Event) -> bool:
        if event.kind not in (EventKind.Annotation, EventKind.TorchOp):
            return False
        several = len(event.trace.devices_used) > 1
        return several or any(copies.is_copy(work, "PtoP") for work in event.kernels)
