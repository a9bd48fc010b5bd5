"""TDY303: each launch waits until its kernel is done."""

from __future__ import annotations

from collections.abc import Sequence

from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Rows, Trace, rows_of

from ..base import DevicePattern, Match, Matches
from ..evidence.fixes import edits
from ..evidence.time import waits
from ..examples import Abstains, Fires, Quiet, on_gpu, steps, under
from ..option import EASY_WARNING, Option, share, warning_share

# A launch that does not wait takes so long.
_LAUNCH_NS = 5_000


_COPY = under("cudaMemcpyAsync > => Memcpy DtoH (Device -> Pageable) 2us 4B")
_SYNCED = under("cudaLaunchKernel", "=> gemm 90us") + "cudaDeviceSynchronize 90us\n"


def _ops(call: str, *after: str, count: int = 10) -> str:
    op = under("aten::mm", under(call, "=> gemm 90us"), *after)
    return on_gpu(steps(op * count, count=2, lasts_us=None))


class LaunchBlocking(DevicePattern):
    """Each launch waits until its kernel is done, as under `CUDA_LAUNCH_BLOCKING=1`.

    What it does: It compares launches with their kernels, where these take 5 us or more: a launch
    returns before its kernel ends, also where it had to wait for room in the queue. Launches have
    to take longer than those of short kernels, by half of what their kernels do: a slow host
    returns from all of them when such kernels have ended. It reports runs in which more than half
    of 20 launches or more do not return before, or in which more than half are followed by a
    synchronising call in the same op.
    Why it costs: The host prepares nothing while the GPU works, and the GPU idles while the host
    prepares the next launch.
    Example: A variable from a debugging session that was left set, recorded as

        cudaLaunchKernel     until its kernel ends, and so is the next one
          => a kernel of 5 us or more

    Instead: Unset `CUDA_LAUNCH_BLOCKING` (on AMD `HIP_LAUNCH_BLOCKING`, `AMD_SERIALIZE_KERNEL`).
    Cannot see: It cannot tell in runs whose kernels are all short, or take less time than they take
    to begin and are all alike, or are launched by graphs.
    """

    code = "TDY303"
    needs = frozenset({Capability.DEVICE})
    fix = "unset CUDA_LAUNCH_BLOCKING (AMD: HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL)"
    long_ns = Option(
        5_000,
        "a shorter kernel may end before the call that launches it returns; one that waits for"
        " room in the queue returns when kernels before its own are done",
    )
    fewest_launches = Option(20, "so many launches of long kernels have to be known")
    most_wait = share(0.5, "more than this part of them has to wait")
    warning_from = warning_share(EASY_WARNING)
    examples = (
        # In an outline device work begins when its call ends: only waits can be drawn.
        Fires("synchronized", _ops("cudaLaunchKernel", "cudaStreamSynchronize 90us"), events=20),
        Quiet("launches", _ops("cudaLaunchKernel")),
        Quiet("few", _ops("cudaLaunchKernel", "cudaStreamSynchronize 90us", count=5)),
        Quiet("asked-for", on_gpu(steps(under("frame", _SYNCED * 10), count=2, lasts_us=None))),
        Quiet("copies-in-between", _ops("cudaLaunchKernel", _COPY, "cudaStreamSynchronize 90us")),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def find(self, trace: Trace) -> Matches:
        calls, waited = waits.until_their_kernels_end(trace, self.long_ns)
        if not self._is_most(calls, waited):
            calls, waited = waits.right_after_launches(trace)
            if not self._is_most(calls, waited):
                return
        yield Match(
            Events(trace, waited),
            message=f"{len(waited):,} of {len(calls):,} launches wait until their kernels are done",
            location=None,
        )

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Calls that wait take what a launch takes; what waits beside them goes."""
        rows = rows_of(events)
        spent_ns = int(trace.duration_ns[rows].sum())
        left = len(rows) * _LAUNCH_NS / max(spent_ns, 1)
        return Edit(
            "launches that return at once",
            host=edits.host_time(trace, rows),
            waits=rows.tolist(),
            left=(min(left, 1.0), min(2 * left, 1.0)),
        )

    def _is_most(self, calls: Rows, waited: Rows) -> bool:
        return len(calls) >= self.fewest_launches and len(waited) > self.most_wait * len(calls)
