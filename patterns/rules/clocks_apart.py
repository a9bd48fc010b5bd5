"""TDY006: the device's clock does not agree with the host's."""

from __future__ import annotations

from collections.abc import Iterable

from tidy.finding import Severity
from tidy.trace import Events, Trace

from ..base import DevicePattern
from ..evidence import recording
from ..examples import WORK, Abstains, Fires, Quiet, launch, on_gpu, steps
from ..match import Match, remark
from ..option import share


class ClocksApart(DevicePattern):
    """By their times kernels begin before they are launched, or run on after the host waited.

    What it does: It finds kernels that begin 2 us or more before the call that launches them, where
    they are 1 % of all, and waits for the device that return 20 us or more before what was launched
    is done.
    Why it costs: The times of the host and of the device are not on one scale then. Where the
    device idles, and for what, is off by the difference, and so are savings.
    Example: A virtual machine whose clock was set meanwhile, recorded as

        cudaLaunchKernel                at 100 us
          => a kernel                   at 80 us

    Instead: Record again, with a newer driver and profiler, and not while the machine's clock is
    set; do not believe idle times of this recording.
    Cannot see: A device whose clock is behind by less than its queue is deep.
    """

    code = "TDY006"
    severity = Severity.INFO
    fix = "record again: idle times of this recording cannot be trusted"
    why_no_edit = "it is about the recording, not the run"
    fewest_share = share(
        0.01,
        "where fewer of the kernels than this part begin before their launch, it is an accident",
    )
    examples = (
        Fires(
            "runs-on-after-the-wait",
            on_gpu(steps(launch("aten::mm", "gemm 900us"), "cudaDeviceSynchronize 9us")),
            events=3,
        ),
        Quiet(
            "in-order", on_gpu(steps(launch("aten::mm", "gemm 9us"), "cudaDeviceSynchronize 9us"))
        ),
        Quiet("waits-for-a-stream", on_gpu(steps(WORK, "cudaStreamSynchronize 1us"))),
        Quiet("launched-after-the-wait", on_gpu(steps("cudaDeviceSynchronize 1us", WORK))),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def find(self, trace: Trace) -> Iterable[Match]:
        early, count = recording.begun_before_launch(trace)
        if len(early) and len(early) >= self.fewest_share * count:
            what = f"{len(early):,} of {count:,} kernels begin before they are launched"
            yield remark(Events(trace, early), what)
        waits = recording.done_after_wait(trace)
        if len(waits):
            what = "the host has waited for the device, which by its own clock works on"
            yield remark(Events(trace, waits), what)
