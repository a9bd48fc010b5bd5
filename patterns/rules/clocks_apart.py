"""TDY006: the device's clock does not agree with the host's."""

from __future__ import annotations

import numpy as np

from tidy.finding import Severity
from tidy.trace import EventKind, Events, Rows, Trace

from ..base import DevicePattern, Matches, remark
from ..evidence.device import launches
from ..examples import WORK, Abstains, Fires, Quiet, launch, on_gpu, steps
from ..option import share

_DEVICE_SYNCS = ("cudaDeviceSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize")
# The host's clock and the device's are matched to about this much.
_SKEW_NS, _LATE_NS = 2_000, 20_000

_LONG, _WAIT = launch("aten::mm", "gemm 900us"), "cudaDeviceSynchronize 9us"


class ClocksApart(DevicePattern):
    """In the trace kernels begin before they are launched, or run on after the host waited for
    them.

    What it does: It finds kernels that begin 2 us or more before the call that launches them, where
    they are 1 % of all, and waits for the device that return 20 us or more before what was launched
    is done.
    Why it costs: The times of the host and of the device come from clocks that differ. Idle times,
    their causes and savings are wrong by that difference.
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
        0.01, "a smaller part of the kernels that begin before their launch is an accident"
    )
    examples = (
        Fires("runs-on-after-the-wait", on_gpu(steps(_LONG, _WAIT)), events=3),
        Quiet("in-order", on_gpu(steps(_LONG.replace("900us", "9us"), _WAIT))),
        Quiet("waits-for-a-stream", on_gpu(steps(WORK, "cudaStreamSynchronize 1us"))),
        Quiet("launched-after-the-wait", on_gpu(steps("cudaDeviceSynchronize 1us", WORK))),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def find(self, trace: Trace) -> Matches:
        kernels, calls = _with_calls(trace, trace.rows_of_kind(EventKind.Kernel))
        early = kernels[trace.start_ns[kernels] < trace.start_ns[calls] - _SKEW_NS]
        if len(early) and len(early) >= self.fewest_share * len(kernels):
            what = f"{len(early):,} of {len(kernels):,} kernels begin before they are launched"
            yield remark(Events(trace, early), what)
        waits = _done_after_wait(trace)
        if len(waits):
            what = "the host has waited for the device, which by its own clock works on"
            yield remark(Events(trace, waits), what)


def _with_calls(trace: Trace, work: Rows) -> tuple[Rows, Rows]:
    """Those of some device work whose calls are known, and these calls."""
    calls = trace.caller[work].astype(np.int64)
    return work[calls >= trace.tree_count], calls[calls >= trace.tree_count]


def _done_after_wait(trace: Trace) -> Rows:
    """Waits for a whole device that return before all that was launched on it before is done."""
    waits = launches.calls_of(trace, *_DEVICE_SYNCS)
    work, calls = _with_calls(trace, trace.device_rows)
    if not len(waits) or not len(work) or len(trace.devices_used) > 1:
        return waits[:0]  # it waits for one device, and which one is not known
    order = np.argsort(trace.start_ns[calls], kind="stable")
    done = np.append(0, np.maximum.accumulate(trace.end_ns[work][order]))
    before = np.searchsorted(trace.start_ns[calls][order], trace.start_ns[waits])
    late: Rows = waits[done[before] > trace.end_ns[waits] + _LATE_NS]
    return late
