"""TDY103: batches copied to the device from pageable memory."""

from __future__ import annotations

from collections.abc import Iterable

from tidy.finding import Finding, NotApplicable, NotChecked, Severity
from tidy.trace import Capability, Trace

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..places import Loop, place_of
from ..uploads import (
    PAGEABLE,
    Upload,
    finding_of,
    in_the_loop,
    unknown_memory,
    uploads,
)

# Up to here CUDA stages a pageable copy at once, in no more time than it takes to launch it.
_WORTH_PINNING_NBYTES = 64 * 1024
_SEEN = "copied to the GPU from memory that is not pinned"


class UnpinnedCopy(Pattern):
    """Data goes to the GPU from memory that is not pinned, so the host waits for each copy.

        aten::to
          aten::copy_
            cudaMemcpyAsync => Memcpy HtoD (Pageable -> Device)
            cudaStreamSynchronize

    Reported where it repeats, in two steps or, where the trace has none, with kernels in between,
    and where a copy has 64 KiB or more; smaller ones at the same place count with it, scalars do
    not. Not reported: a model that moves to the GPU, indexes that PyTorch copies by itself, and
    fills, which are TDY201.

    Cost: the copy, at half of the speed of the bus or less, and the host, which cannot prepare
    anything meanwhile. Below 1 % of the steps, or where other work of the GPU covers it, it is said
    as info.
    Instead: `DataLoader(..., pin_memory=True)` or `tensor.pin_memory()`, and
    `.to(device, non_blocking=True)`.
    Misses: many small copies; AMD, whose traces do not tell pinned memory from other.
    """

    code = "TDY103"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "DataLoader(..., pin_memory=True), then .to(device, non_blocking=True)"
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
                      cudaMemcpyAsync 20us
                        => Memcpy HtoD (Pageable -> Device) 20us 262144B
                      cudaStreamSynchronize 25us
                aten::mm
                  cudaLaunchKernel
                    => gemm 90us
              ProfilerStep#2 800us
                aten::to | float[64, 1024]
                  aten::_to_copy | float[64, 1024]
                    aten::copy_ | float[64, 1024], float[64, 1024], =False
                      cudaMemcpyAsync 20us
                        => Memcpy HtoD (Pageable -> Device) 20us 262144B
                      cudaStreamSynchronize 25us
                aten::mm
                  cudaLaunchKernel
                    => gemm 90us
            """,
            events=2,
            at="train.py:7",
        ),
        Fires(
            "small-share",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 8000us
              aten::to
                aten::copy_
                  cudaMemcpyAsync 20us
                    => Memcpy HtoD (Pageable -> Device) 20us 262144B
            ProfilerStep#2 8000us
              aten::to
                aten::copy_
                  cudaMemcpyAsync 20us
                    => Memcpy HtoD (Pageable -> Device) 20us 262144B
            """,
            events=2,
            severity=Severity.INFO,
        ),
        Quiet(
            "pinned",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::to
                aten::copy_
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pinned -> Device) 20us 262144B
            ProfilerStep#2
              aten::to
                aten::copy_
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pinned -> Device) 20us 262144B
            """,
        ),
        Quiet(
            "small",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::to
                aten::copy_
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pageable -> Device) 1us 256B
            ProfilerStep#2
              aten::to
                aten::copy_
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pageable -> Device) 1us 256B
            """,
        ),
        Quiet(
            "model-moves",
            """
            # device 0 NVIDIA A100 8.0
            aten::to
              aten::copy_
                cudaMemcpyAsync
                  => Memcpy HtoD (Pageable -> Device) 20us 262144B
            aten::to
              aten::copy_
                cudaMemcpyAsync
                  => Memcpy HtoD (Pageable -> Device) 20us 262144B
            aten::to
              aten::copy_
                cudaMemcpyAsync
                  => Memcpy HtoD (Pageable -> Device) 20us 262144B
            aten::mm
              cudaLaunchKernel
                => gemm 90us
            """,
        ),
        Abstains(
            "rocm",
            """
            # device 0 AMD-Instinct
            ProfilerStep#1
              aten::to
                aten::copy_
                  hipMemcpyWithStream
                    => Memcpy HtoD (Host -> Device) 20us
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::to\n    aten::copy_"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        return unknown_memory(trace)

    def check(self, trace: Trace) -> Iterable[Finding]:
        places: dict[object, list[Upload]] = {}
        for upload in uploads(trace, PAGEABLE):
            places.setdefault(place_of(upload.op), []).append(upload)
        loop = Loop(trace)
        for copies in places.values():
            large = [each for each in copies if each.nbytes >= _WORTH_PINNING_NBYTES]
            if large and in_the_loop(loop, large):
                yield finding_of(self, trace, in_the_loop(loop, copies), _SEEN)
