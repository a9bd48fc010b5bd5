"""TDY903: DataParallel where DistributedDataParallel would do."""

from __future__ import annotations

from collections.abc import Iterable

from tidy.finding import NotApplicable, NotChecked
from tidy.trace import Capability, Event, EventKind, Trace

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device


class DataParallel(Pattern):
    """`DataParallel` drives several GPUs from one process, and copies the model in every step.

        DataParallel.forward
        work on two devices or more, or copies from GPU to GPU

    Cost: the model is sent to all GPUs in every forward pass, gradients come back to the first one,
    and the threads that launch the work share one interpreter.
    Instead: `DistributedDataParallel`, one process a GPU (`torchrun`); it pays on one machine too.
    Misses: replicas made by hand. Quiet where the module got one device only, and copies nothing.
    """

    code = "TDY903"
    needs = frozenset[Capability]()
    triggers = frozenset({"DataParallel.forward"})
    fix = "DistributedDataParallel, one process a GPU: torchrun --nproc-per-node=N"
    examples = (
        Fires(
            "peer-copies",
            """
            # device 0 NVIDIA A100 8.0
            # device 1 NVIDIA A100 8.0
            train.py(4): train
              DataParallel.forward 90us
                Scatter
                  cudaMemcpyAsync
                    => Memcpy PtoP (Device -> Device) 5us 1024B
                aten::mm
                  cudaLaunchKernel
                    => gemm 30us
            """,
            at="train.py:4",
        ),
        Quiet(
            "one-device",
            """
            # device 0 NVIDIA A100 8.0
            # device 1 NVIDIA A100 8.0
            train.py(4): train
              DataParallel.forward 90us
                aten::mm
                  cudaLaunchKernel
                    => gemm 30us
            """,
        ),
        Quiet(
            "distributed",
            """
            # device 0 NVIDIA A100 8.0
            DistributedDataParallel.forward 90us
              aten::mm
                cudaLaunchKernel
                  => gemm 30us
            """,
        ),
        Abstains("cpu-run", "DataParallel.forward 90us"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        used = len(trace.rows_named(*self.triggers)) > 0
        return obstacle if used or isinstance(obstacle, NotApplicable) else None

    def match(self, event: Event) -> bool:
        if event.kind not in (EventKind.Annotation, EventKind.TorchOp):
            return False
        return len(event.trace.devices_used) > 1 or any(map(_is_peer_copy, event.kernels))

    def message(self, events: Iterable[Event]) -> str:
        return "DataParallel copies the model to every GPU in each step, from one process"


def _is_peer_copy(work: Event) -> bool:
    return work.kind == EventKind.Memcpy and "PtoP" in work.name
