"""TDY104: copies from pinned memory that the host waits for."""

from __future__ import annotations

from collections.abc import Iterable

from tidy.finding import Finding, NotApplicable, NotChecked, Severity
from tidy.trace import Capability, Trace, remedy

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..places import Loop, place_of
from ..uploads import (
    PINNED,
    Upload,
    finding_of,
    in_the_loop,
    unknown_memory,
    uploads,
)
from ..waits import SYNCHRONIZE, calls_of

_NON_BLOCKING = 2  # of aten::copy_(self, src, non_blocking)
_SEEN = "the host waits for a copy from pinned memory"


class BlockingCopy(Pattern):
    """Data goes to the GPU from pinned memory, and still the host waits for the copy.

        aten::copy_    Concrete Inputs: non_blocking False
          cudaMemcpyAsync => Memcpy HtoD (Pinned -> Device)
          cudaStreamSynchronize

    Either is enough, the input or the wait. Reported where it repeats, in two steps or, where the
    trace has none, in three rounds with kernels in between. Copies from the GPU are none: there the
    host has to wait before it can use the data.

    Cost: the host waits for the copy and all work before it, and the GPU then for the host. Below
    1 % of the steps, or where other work of the GPU covers it, it is said as info.
    Instead: `.to(device, non_blocking=True)`; the memory is pinned already.
    Misses: memory that is not pinned, which is TDY103; AMD, whose traces do not tell it from other.
    """

    code = "TDY104"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = ".to(device, non_blocking=True): the memory is pinned already"
    examples = (
        Fires(
            "each-step",
            """
            # device 0 NVIDIA A100 8.0
            train.py(7): train
              ProfilerStep#1 800us
                aten::to | float[64, 1024]
                  aten::_to_copy | float[64, 1024]
                    aten::copy_ | float[64, 1024], float[64, 1024], =False
                      cudaMemcpyAsync
                        => Memcpy HtoD (Pinned -> Device) 20us 262144B
                      cudaStreamSynchronize 25us
                aten::mm
                  cudaLaunchKernel
                    => gemm 90us
              ProfilerStep#2 800us
                aten::to | float[64, 1024]
                  aten::_to_copy | float[64, 1024]
                    aten::copy_ | float[64, 1024], float[64, 1024], =False
                      cudaMemcpyAsync
                        => Memcpy HtoD (Pinned -> Device) 20us 262144B
                      cudaStreamSynchronize 25us
                aten::mm
                  cudaLaunchKernel
                    => gemm 90us
            """,
            events=2,
            at="train.py:7",
        ),
        Fires(
            "without-shapes",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 8000us
              aten::to
                aten::copy_
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pinned -> Device) 20us 262144B
                  cudaStreamSynchronize 25us
            ProfilerStep#2 8000us
              aten::to
                aten::copy_
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pinned -> Device) 20us 262144B
                  cudaStreamSynchronize 25us
            """,
            events=2,
            severity=Severity.INFO,
        ),
        Quiet(
            "non-blocking",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::copy_ | float[64, 1024], float[64, 1024], =True
                cudaMemcpyAsync
                  => Memcpy HtoD (Pinned -> Device) 20us 262144B
            ProfilerStep#2
              aten::copy_ | float[64, 1024], float[64, 1024], =True
                cudaMemcpyAsync
                  => Memcpy HtoD (Pinned -> Device) 20us 262144B
            """,
        ),
        Quiet(
            "from-the-gpu",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::copy_ | float[64, 1024], float[64, 1024], =False
                cudaMemcpyAsync
                  => Memcpy DtoH (Device -> Pinned) 20us 262144B
                cudaStreamSynchronize 25us
            ProfilerStep#2
              aten::copy_ | float[64, 1024], float[64, 1024], =False
                cudaMemcpyAsync
                  => Memcpy DtoH (Device -> Pinned) 20us 262144B
                cudaStreamSynchronize 25us
            """,
        ),
        Abstains(
            "neither-input-nor-wait",
            """
            # device 0 NVIDIA A100 8.0
            aten::copy_
              cudaMemcpyAsync
                => Memcpy HtoD (Pinned -> Device) 20us 262144B
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::to\n    aten::copy_"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = unknown_memory(trace)
        if obstacle is not None or len(calls_of(trace, *SYNCHRONIZE)):
            return obstacle
        if any(_non_blocking(each) == "" for each in uploads(trace, PINNED)):
            return NotChecked(
                "the trace does not say whether copies block", remedy([Capability.SHAPES])
            )
        return None

    def check(self, trace: Trace) -> Iterable[Finding]:
        waits = set(calls_of(trace, *SYNCHRONIZE).tolist())
        places: dict[object, list[Upload]] = {}
        for upload in uploads(trace, PINNED):
            calls = trace.runtime_rows_under(upload.copy.row).tolist()
            if _non_blocking(upload) == "False" or not waits.isdisjoint(calls):
                places.setdefault(place_of(upload.op), []).append(upload)
        loop = Loop(trace)
        for copies in places.values():
            repeated = in_the_loop(loop, copies)
            if repeated:
                yield finding_of(self, trace, repeated, _SEEN)


def _non_blocking(upload: Upload) -> str:
    """Its text (True, False), "" where concrete inputs were not recorded."""
    inputs = upload.copy.concrete_inputs
    return str(inputs[_NON_BLOCKING]) if len(inputs) > _NON_BLOCKING else ""
