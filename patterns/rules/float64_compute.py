"""TDY505: float64 arithmetic on a GPU, and products of it on a CPU."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tidy.finding import FixPlace, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Rows, Trace, rows_of

from ..base import Match, Matches, Pattern
from ..evidence.device import copies, devices, launches
from ..evidence.device.obstacles import other_accelerator, without_device
from ..evidence.fixes import edits
from ..evidence.python import places
from ..evidence.python.float64_sources import float64_comes_in_at
from ..evidence.python.made_places import float64_made_at
from ..examples import AT, FRAME, Abstains, Fires, Quiet, launch, on_gpu, steps, under
from ..option import WORTH_A_WARNING, warning_share, word_share

_PRODUCT = re.compile(r"aten::(mm|addmm|bmm|baddbmm|mv|addmv_?|dot|vdot|\w*conv\w*)")
# NVIDIA's parts with float64 units for half the rate of float32; all others have 1/32 or 1/64.
_HALF_RATE = frozenset({(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)})
# Tensor Cores of an A100 or H100 are as fast in float64 as others in float32: on an H100 the layers
# of a perceptron gained next to nothing by float32.
_ON_TENSOR_CORES = re.compile(r".*(d884|dmma|f64f64_.*tensor\d)")
_LEFT, _LEFT_ON_TENSOR_CORES = 0.6, 1.0
# Kernels as short as this take the time of a launch, whatever they compute.
_SHORT_NS = 4_000

_MM = "aten::mm 60us | double[64, 64], double[64, 64]"
_SMALL = launch("aten::mm 60us | double[4, 4], double[4, 4]", "gemm_kernel 2us")
_OTHER = launch("aten::relu 900us | float[9, 9]", "relu_kernel 800us")
_TENSORS = "double[8, 3, 9, 9], double[4, 3, 3, 3]"
_CONV = f"aten::conv2d 60us | {_TENSORS}, - > aten::cudnn_convolution | {_TENSORS}"
_TO = "aten::to 90us | double[4096] > aten::_to_copy | double[4096]"
_CAST = f"{_TO} > aten::copy_ | float[4096], double[4096]"
_LOSS = "aten::sub 90us | float[4096], double[4096]"
_KERNEL = "elementwise_kernel 40us"


class Float64Compute(Pattern):
    """The run computes in float64, which takes twice the memory and many times the arithmetic.

    What it does: It finds products and convolutions of double tensors on a GPU, and other ops on
    them where those of one line take 5 % of the step. A Python number, which is recorded as a
    double without dims, makes no tensor float64 and does not count. In a run on the CPU products of
    one line that take 5 % of the step are info. It names where the float64 comes from: the line
    that converts the module or sets the default, or else the first one of the step that makes a
    float64 tensor of such sizes of an array, by a cast or by an operator of float32 and float64.
    Why it costs: There are twice the bytes of float32, and the rate of float64 is half on NVIDIA's
    largest GPUs and on CPUs, and 1/32 or 1/64 on all other GPUs.
    Example: `model(torch.from_numpy(array).to("cuda"))`, recorded as

        aten::mm, aten::addmm, aten::bmm, aten::cudnn_convolution, ...    Input type double
          => a kernel

    Instead: Write `.float()` where the data comes in (NumPy's default is float64), and
    `dtype=torch.float32` where tensors are made.
    Cannot see: It misses fused kernels of a compiler and ops that take lists of tensors (foreach).
    The trace does not tell whether a computation needs float64, as some do.
    """

    code = "TDY505"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    why_no_edit = "kernels this short take the time of their launch"
    fix = "use float32: .float() on the data, dtype=torch.float32 for new tensors"
    worth_a_word = word_share(WORTH_A_WARNING, "arithmetic that is no product of a GPU")
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("product", on_gpu(launch(_MM, "d884gemm_64x64_nn 40us"), frame=FRAME), at=AT),
        Fires("convolution", on_gpu(launch(_CONV, "implicit_convolve_dgemm 40us"))),
        Fires("small-product", on_gpu(_SMALL, _OTHER, frame=FRAME), 1, AT, Severity.INFO),
        Fires("loss", on_gpu(launch(_LOSS, _KERNEL), frame=FRAME), at=AT),
        Quiet("python-number", on_gpu(launch("aten::mul 90us | float[4096], double[]", _KERNEL))),
        Quiet("small-elementwise", on_gpu(launch("aten::mul 90us | double[4]", "kernel 2us"))),
        Quiet("cast", on_gpu(launch(_CAST, _KERNEL))),
        Fires("on-the-cpu", under(FRAME, steps(_MM)), 3, AT, Severity.INFO),
        Quiet("float32-on-the-cpu", steps(_MM.replace("double", "float"))),
        Quiet("little-on-the-cpu", steps(_MM, "aten::relu 2000us", lasts_us=None)),
        Abstains("no-shapes", "aten::mm"),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return None if trace.is_cpu_run else without_device(trace) or other_accelerator(trace)

    def find(self, trace: Trace) -> Matches:
        return self._on_a_gpu(trace) if trace.devices_used else self._on_the_cpu(trace)

    def _on_the_cpu(self, trace: Trace) -> Matches:
        rows = launches.rows_matching(trace, _PRODUCT, "aten::*")
        rows = rows[rows < trace.tree_count]
        rows = rows[_have_doubles(trace, rows)]
        rows = rows[~np.isin(trace.parent[rows], rows)]
        for events in places.grouped(trace.events(rows.tolist()), lambda op: op.location):
            for part in places.by_window(events):
                if (trace.step_share(trace.time_of(rows_of(part))) or 0.0) >= self.worth_a_word:
                    edit = edits.without_ops(trace, part, "in float32", (0.5, 0.7))
                    said = "float64 products or convolutions"
                    made = _made_at(trace, part)
                    yield Match(part, said, edit=edit, severity=Severity.INFO, fix_place=made)

    def _on_a_gpu(self, trace: Trace) -> Matches:
        kernels_of = _double_kernels(trace)
        products = {op for op in kernels_of if _PRODUCT.fullmatch(op.name)}
        for events in places.grouped(kernels_of, lambda op: (op.location, op in products)):
            product = events[0] in products
            time = trace.time_of(row for event in events for row in kernels_of[event])
            if not product and (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            what = "products or convolutions" if product else "arithmetic"
            for part in places.by_window(events):
                rows = [row for event in part for row in kernels_of[event]]
                edit = _in_float32(trace, rows, product)
                made = _made_at(trace, part)
                yield Match(part, f"float64 {what} on the GPU", rows, edit, fix_place=made)


def _made_at(trace: Trace, ops: Sequence[Event]) -> FixPlace | None:
    """Where these ops get their float64 from: a module or a default, or else what comes in."""
    return float64_made_at(trace, ops) or float64_comes_in_at(trace, ops)


def _in_float32(trace: Trace, kernels: list[int], product: bool) -> Edit | None:
    """Half the bytes, and for products the ratio of the rates; short kernels gain nothing.

    Products on Tensor Cores may gain nothing, unless float32 may be TF32.
    """
    long = [row for row in kernels if trace.duration_ns[row] > _SHORT_NS]
    ratio = _ratio(trace)
    best = 1 / ratio if product else min(0.5, 4 / ratio)
    if not long:
        return None
    fast = [row for row in long if _ON_TENSOR_CORES.match(trace.names[trace.name_id[row]])]
    if ratio > 2:  # the kernels have the same name, and are slow
        fast = []
    share = trace.duration_ns[fast].sum() / trace.duration_ns[long].sum()
    worst = _LEFT + share * (_LEFT_ON_TENSOR_CORES - _LEFT)
    return Edit("in float32", work=long, left=(best, float(worst)))


def _double_kernels(trace: Trace) -> dict[Event, list[int]]:
    """The kernels that ops of PyTorch on double tensors launched, by op."""
    kernels = trace.rows_of_kind(EventKind.Kernel)
    ops = trace.launching_ops(kernels)
    kernels, ops = kernels[ops >= 0], ops[ops >= 0]
    has_double = _have_doubles(trace, ops)
    kernels_of: dict[int, list[int]] = {}
    for kernel, op in zip(kernels[has_double].tolist(), ops[has_double].tolist(), strict=True):
        kernels_of.setdefault(op, []).append(kernel)
    own = launches.has_name(trace, "aten::*") & ~launches.has_name(trace, *copies.ASKED)
    return {trace.event(op): rows for op, rows in kernels_of.items() if own[trace.name_id[op]]}


def _have_doubles(trace: Trace, ops: Rows) -> NDArray[np.bool_]:
    """For each op whether an input is a double tensor with dims."""
    found = trace.by_dtypes(ops, lambda dtypes: "double" in dtypes)
    alike, which = np.unique(trace.inputs_id[ops[found]], return_inverse=True)
    found[found] = np.array([_has_double(trace, each) for each in alike.tolist()], bool)[which]
    return found


def _has_double(trace: Trace, inputs_id: int) -> bool:
    """Tell whether an input is a double tensor with dims; one without may be a Python number."""
    known = zip(trace.inputs.dtypes(inputs_id), trace.inputs.shapes(inputs_id), strict=False)
    return any(dtype == "double" and shape for dtype, shape in known)


def _ratio(trace: Trace) -> int:
    """Tell how many times the rate of float32 is that of float64 on the GPUs of the run."""
    compute = {device.compute for device in devices.used_devices(trace)} - {None}
    return 64 if compute and not compute & _HALF_RATE else 2
