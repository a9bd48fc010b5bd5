"""TDY104: copies from pinned memory that the host waits for."""

from __future__ import annotations

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device.copies import PINNED, non_blocking
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..evidence.time import waits
from ..evidence.time.uploads import Upload, by_window, unknown_memory, uploads
from ..examples import AT, WORK, Abstains, Fires, Quiet, copy, looped, on_gpu, steps, to_gpu
from ..option import EASY_WARNING, warning_share

_PINNED = "HtoD (Pinned -> Device) 20us 262144B"
_BACK = "DtoH (Device -> Pinned) 20us 262144B"
_INFO = Severity.INFO
_TO = "aten::to > aten::copy_"
_COPY = "aten::copy_ | float[64, 1024], float[64, 1024]"


class BlockingCopy(DevicePattern):
    """Data goes to the GPU from pinned memory, and still the host waits for the copy.

    What it does: It finds copies from pinned memory whose input says that they block, or after
    which the host waits; either is enough. They have to repeat, in two steps or, where the trace
    has none, in three rounds with kernels in between. Copies from the GPU do not count: there the
    host has to wait before it can use the data.
    Why it costs: The host waits for the copy and all work before it, and the GPU then for the host.
    Where other work of the GPU covers it nothing is lost.
    Example: `inputs = batch.to("cuda")` on a pinned batch, recorded as

        aten::copy_    Concrete Inputs: non_blocking False
          cudaMemcpyAsync => Memcpy HtoD (Pinned -> Device)
          cudaStreamSynchronize

    Instead: Write `.to(device, non_blocking=True)`; the memory is pinned already.
    Cannot see: Memory that is not pinned is left to TDY103. On AMD it is not checked, because
    traces do not tell pinned memory from other.
    """

    code = "TDY104"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = ".to(device, non_blocking=True): the memory is pinned already"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("each-step", looped(to_gpu("Pinned", 262144), WORK, lasts_us=800), events=2, at=AT),
        Fires("no-shapes", looped(copy(_PINNED, op=_TO, wait_us=25), lasts_us=8000), 2, AT, _INFO),
        Quiet("non-blocking", on_gpu(steps(copy(_PINNED, op=f"{_COPY}, =True"), count=2))),
        Quiet("from-the-gpu", on_gpu(steps(copy(_BACK, op=f"{_COPY}, =False", wait_us=25)))),
        Abstains("neither-input-nor-wait", on_gpu(copy(_PINNED))),
        Abstains("cpu-run", steps("aten::to\n  aten::copy_", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        obstacle = unknown_memory(trace)
        if obstacle is not None or len(waits.synchronizing_calls(trace)):
            return obstacle
        if any(non_blocking(each.copy) == "" for each in uploads(trace, PINNED)):
            remedy = trace.info.remedy(Capability.SHAPES)
            return NotChecked("the trace does not say whether copies block", remedy)
        return None

    def find(self, trace: Trace) -> Matches:
        synchronizing = set(waits.synchronizing_calls(trace).tolist())

        def blocks(upload: Upload) -> bool:
            calls = trace.runtime_rows_under(upload.copy.row).tolist()
            return non_blocking(upload.copy) == "False" or not synchronizing.isdisjoint(calls)

        blocking = filter(blocks, uploads(trace, PINNED))
        for same in loops.Loop(trace).by_place(blocking, lambda each: each.op):
            for events, cost, where in by_window(trace, same, self.warning_from):
                message = f"the host waits for a copy from pinned memory{where}"
                yield Match(events, message, cost, edits.without_waits(trace, events))
