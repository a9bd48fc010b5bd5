"""TDY005: launches of which the recording has no kernel."""

from __future__ import annotations

from tidy.finding import Severity
from tidy.trace import Events, Trace
from tidy.trace.lost import FEWEST_LOST, FEWEST_LOST_SHARE, kernel_launches

from ..base import DevicePattern, Matches, remark
from ..examples import WORK, Abstains, Fires, Quiet, launch, on_gpu, steps, under
from ..option import Option, share

_LOST = under("aten::relu > cudaLaunchKernel")
_CAPTURED = under("torch.cuda.graph", "cudaStreamBeginCapture", _LOST * 20)
_GRAPH = launch("graph", "a 1us", "b 1us", call="cudaGraphLaunch")


class LostKernels(DevicePattern):
    """The recording lacks kernels that were launched: the profiler lost them.

    What it does: It counts launches without a kernel, where others have one, and reports ten or
    more that are 1 % of all. Launches that a CUDA graph captures have none. Where there is no
    kernel at all rules about the device are not checked, and say so.
    Why it costs: The device seems to idle where it worked. Idle time and savings are upper bounds.
    Example: A recording that is longer than the profiler's buffers, recorded as

        aten::relu
          cudaLaunchKernel        and no kernel of that correlation

    Instead: Record fewer steps, with no other profiler (nsys, ncu, DCGM) at work, and without
    `CUDA_INJECTION64_PATH` or other users of CUPTI.
    Cannot see: Kernels of CUDA graphs have no launches of their own.
    """

    code = "TDY005"
    severity = Severity.INFO
    fix = "record fewer steps, with no other profiler (nsys, ncu, DCGM) using CUPTI"
    why_no_edit = "it is about the recording, not the run"
    fewest = Option(FEWEST_LOST, "at the edges of a recording a few are lost as a rule")
    fewest_share = share(FEWEST_LOST_SHARE, "so is a smaller part of the launches than this")
    examples = (
        Fires("a-third", on_gpu(steps(WORK * 10, _LOST * 5)), events=15),
        Quiet("none", on_gpu(steps(WORK * 10))),
        Quiet("a-few-at-the-edge", on_gpu(steps(WORK * 10), _LOST * 3)),
        Quiet("captured", on_gpu(steps(WORK * 10), _CAPTURED, "cudaStreamEndCapture")),
        Fires("most-of-them", on_gpu(steps(WORK * 10, _LOST * 25)), events=75),
        Quiet("graphs", on_gpu(steps(_GRAPH, WORK))),
        Abstains("all-of-them", _LOST.replace("aten", "# device 0 NVIDIA A100 8.0\naten")),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def find(self, trace: Trace) -> Matches:
        lost, launches = trace.lost_launches, kernel_launches(trace)
        if len(lost) >= self.fewest and len(lost) >= self.fewest_share * len(launches):
            what = f"the profiler lost the kernels of {len(lost):,} of {len(launches):,} launches"
            yield remark(Events(trace, lost), what)
