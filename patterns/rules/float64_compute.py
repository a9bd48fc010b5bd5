"""TDY505: float64 arithmetic on a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Capability, Event, EventKind, Location, Trace

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import used_devices, without_device
from ..launches import launching_ops
from ..timing import WORTH_A_WARNING, severity_by_share

_PRODUCT = re.compile(r"aten::(mm|addmm|bmm|baddbmm|mv|addmv_?|dot|vdot|\w*conv\w*)")
# What only changes the type, as the remedy does.
_CASTS = frozenset({"aten::to", "aten::_to_copy", "aten::copy_"})
# NVIDIA's parts with float64 units for half the rate of float32; all others have 1/32 or 1/64.
_HALF_RATE = frozenset({(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)})


class Float64Compute(Pattern):
    """The GPU computes in float64, which takes twice the memory and many times the arithmetic.

        aten::mm, aten::addmm, aten::bmm, aten::cudnn_convolution, ...    Input type double
          => a kernel

    Other ops on double tensors count too, where those of one line take 5 % of the step. A Python
    number, which is recorded as a double without dims, makes no tensor float64 and does not count.

    Cost: twice the bytes of float32; the rate of float64 is half on NVIDIA's largest GPUs and
    1/32 or 1/64 on all others.
    Instead: `.float()` where the data comes in (NumPy's default is float64), and
    `dtype=torch.float32` where tensors are made.
    Misses: fused kernels of a compiler; ops that take lists of tensors (foreach); runs without
    shapes. Below 5 % of the step it is said as info, and some computations need float64.
    """

    code = "TDY505"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    fix = "use float32: .float() on the data, dtype=torch.float32 for new tensors"
    examples = (
        Fires(
            "product",
            """
            # device 0 NVIDIA A100 8.0
            train.py(4): train
              aten::mm 60us | double[64, 64], double[64, 64]
                cudaLaunchKernel
                  => cutlass_80_tensorop_d884gemm_64x64_nn 40us
            """,
            at="train.py:4",
        ),
        Fires(
            "convolution",
            """
            # device 0 NVIDIA A100 8.0
            aten::conv2d 60us | double[8, 3, 9, 9], double[4, 3, 3, 3], -
              aten::cudnn_convolution | double[8, 3, 9, 9], double[4, 3, 3, 3]
                cudaLaunchKernel
                  => implicit_convolve_dgemm 40us
            """,
        ),
        Fires(
            "small-product",
            """
            # device 0 NVIDIA A100 8.0
            train.py(4): train
              aten::mm 60us | double[4, 4], double[4, 4]
                cudaLaunchKernel
                  => gemm_kernel 2us
              aten::relu 900us | float[9, 9]
                cudaLaunchKernel
                  => relu_kernel 800us
            """,
            at="train.py:4",
            severity=Severity.INFO,
        ),
        Fires(
            "loss",
            """
            # device 0 NVIDIA A100 8.0
            train.py(4): train
              aten::sub 90us | float[4096], double[4096]
                cudaLaunchKernel
                  => elementwise_kernel 40us
            """,
            at="train.py:4",
        ),
        Quiet(
            "python-number",
            """
            # device 0 NVIDIA A100 8.0
            aten::mul 90us | float[4096], double[]
              cudaLaunchKernel
                => elementwise_kernel 40us
            """,
        ),
        Quiet(
            "small-elementwise",
            """
            # device 0 NVIDIA A100 8.0
            aten::mul 90us | double[4]
              cudaLaunchKernel
                => elementwise_kernel 2us
            """,
        ),
        Quiet(
            "cast",
            """
            # device 0 NVIDIA A100 8.0
            aten::to 90us | double[4096]
              aten::_to_copy | double[4096]
                aten::copy_ | float[4096], double[4096]
                  cudaLaunchKernel
                    => elementwise_kernel 40us
            """,
        ),
        Abstains("cpu-run", "aten::mm | double[64, 64], double[64, 64]"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        return without_device(trace)

    def check(self, trace: Trace) -> Iterable[Finding]:
        kernels = trace.rows_of_kind(EventKind.Kernel)
        ops = launching_ops(trace, kernels)
        has_double = {
            i: _has_double(trace, i) for i in set(trace.inputs_id[ops[ops >= 0]].tolist())
        }
        work: dict[Event, list[int]] = {}
        for kernel, op in zip(kernels.tolist(), ops.tolist(), strict=True):
            if op >= 0 and has_double[int(trace.inputs_id[op])]:
                work.setdefault(trace.event(op), []).append(kernel)
        places: dict[tuple[Location | None, bool], list[Event]] = {}
        for event in work:
            if event.name.startswith("aten::") and event.name not in _CASTS:
                product = bool(_PRODUCT.fullmatch(event.name))
                places.setdefault((event.location, product), []).append(event)
        for (_, product), events in places.items():
            rows = [row for event in events for row in work[event]]
            time = trace.time_of(rows)
            share = trace.step_share(time) or 0.0
            if product or share >= WORTH_A_WARNING:
                what = "products or convolutions" if product else "arithmetic"
                yield self.report(
                    trace,
                    events,
                    message=f"float64 {what} on the GPU",
                    severity=severity_by_share(share),
                    cost_rows=rows,
                    saving=_saving(trace, time.total_ns),
                )


def _has_double(trace: Trace, inputs_id: int) -> bool:
    """Whether an input is a double tensor with dims; one without may be a Python number."""
    dtypes, shapes = trace.inputs.dtypes(inputs_id), trace.inputs.shapes(inputs_id)
    return any(dtype == "double" and shape for dtype, shape in zip(dtypes, shapes, strict=False))


def _saving(trace: Trace, spent_ns: int) -> Saving:
    compute = {device.compute for device in used_devices(trace)} - {None}
    ratio = 64 if compute and not compute & _HALF_RATE else 2
    model = "none where neither memory nor arithmetic is the limit, up to the ratio of their rates"
    return Saving(0, spent_ns - spent_ns // ratio, model)
