"""TDY501: single-precision matrix products on a GPU that has TF32."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidy.finding import NotApplicable, NotChecked, Obstacle
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Trace, rows_of
from tidy.trace.inputs import is_dims

from ..base import DevicePattern, Match, Matches
from ..evidence.device import devices, launches, obstacles, products
from ..evidence.python import places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu
from ..option import EASY_WARNING, warning_share

# How many times the peak rate of float32 is that of TF32, by NVIDIA's data sheets: 8 on A100 and
# about as much on H100 (19.5 and 156, 67 and 495 TFLOP/s), 2 on A10, A40, L4 and RTX A6000, 1 on
# GeForce RTX 3090 and 4090 and L40. Of the peak, large products reach 88 % on ordinary cores and
# 80 % on Tensor Cores, whose last round of tiles is emptier (docs/modelled-device.md): at worst
# they take 1.4 times what the ratio says. Smaller ones reach half of it at the least.
# Of kernels without dims it is not known whether memory holds them up.
_LARGE_NS, _LARGE_LEFT, _SMALL_LEFT, _UNKNOWN_LEFT = 300_000, 1.4, 2.0, 0.6
_FULL_RATE = frozenset({(8, 0), (9, 0), (10, 0), (10, 3)})
_BYTES_PER_NS = 2_000  # A100 80GB: 2.0 TB/s

_HIDDEN = NotChecked(
    "all float32 products are templates of Triton, which do not tell whether they use TF32",
    'record some steps without mode="max-autotune"',
)
_FLOAT = "aten::mm | float[64, 64], float[64, 64]"
_HALF = "aten::mm | c10::Half[64, 64], c10::Half[64, 64]"
_BIAS_ALONE = "aten::addmm | float[64], c10::Half[64, 64], c10::Half[64, 64]"
_RTX_3090 = "# device 0 NVIDIA GeForce RTX 3090 8.6"
_TF32_KERNEL = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16 9us"
_TEMPLATE = "triton_tem_fused_mm_0 | float[64, 64], float[64, 64]"
_REGION = "Torch-Compiled Region: 0/0"
_COMPILED = joined("aten::neg | float[64]", launch(_REGION, "ampere_sgemm_64x64_nn 40us"))


class FP32Matmul(DevicePattern):
    """A float32 matrix product runs without Tensor Cores on a GPU that could use TF32.

    What it does: It looks at the kernels of float32 matrix products, in compiled code also at those
    without an operator, by their names. The trace does not hold `allow_tf32`, so the kernel that
    ran is the evidence, not the setting. Where some of them ran on Tensor Cores the setting is on,
    and nothing is reported. Some products (the angles of rotary embeddings) are float32 on
    purpose; they take next to no time.
    Why it costs: On an A100 ordinary cores have an eighth of the rate of TF32.
    Example: `left @ right` on float32 tensors with PyTorch's default settings, recorded as

        aten::mm, aten::addmm, aten::bmm, aten::baddbmm    Input type float
          => a kernel named sgemm, simt, ...               not tf32, tensorop, s1688, nvjet

    Instead: Call `torch.set_float32_matmul_precision("high")`, if ten bits of mantissa are enough
    for the model. What autocast to bfloat16 adds to that is TDY502.
    Cannot see: It misses convolutions (cuDNN uses TF32 by default) and, in compiled code where
    there are any, products without an operator; Triton's templates, whose names do not tell (where
    all float32 products are such it is not checked); and products whose kernel the profiler lost.
    AMD and GPUs before compute capability 8.0 have no TF32, and on GeForce cards and the L40 it is
    no faster than float32, so it does not apply to them.
    """

    code = "TDY501"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    triggers = products.MATRIX_PRODUCTS
    fix = 'torch.set_float32_matmul_precision("high") lets Tensor Cores do it (TF32)'
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("a100", on_gpu(launch(_FLOAT, "ampere_sgemm_64x64_nn 40us"), frame=FRAME), at=AT),
        Quiet("tf32", on_gpu(launch(_FLOAT, _TF32_KERNEL))),
        Quiet("tf32-is-on", on_gpu(launch(_FLOAT, _TF32_KERNEL), launch(_FLOAT, "sgemm 40us"))),
        Quiet("bias-under-autocast", on_gpu(launch(_BIAS_ALONE, "ampere_sgemm_64x64_nn 40us"))),
        Fires("compiled", on_gpu(_COMPILED, frame=FRAME), at=AT),
        Quiet("beside-convolutions", on_gpu(_COMPILED, launch("aten::convolution", "conv"))),
        Quiet("tf32-is-on-in-compiled-code", on_gpu(_COMPILED, launch(_REGION, _TF32_KERNEL))),
        Quiet("a-template-of-triton", on_gpu(_COMPILED.replace("ampere_sgemm", "triton_tem_mm"))),
        Abstains("templates-alone", on_gpu(launch(_TEMPLATE, "triton_tem_fused_mm_0 90us"))),
        Quiet("half", on_gpu(launch(_HALF, "ampere_fp16_s16816gemm_fp16_64x64 9us"))),
        Abstains("v100", joined("# device 0 Tesla V100 7.0", launch(_FLOAT, "volta_sgemm 40us"))),
        Abstains("geforce", joined(_RTX_3090, launch(_FLOAT, "ampere_sgemm_64x64_nn 40us"))),
        Abstains("cpu-run", _FLOAT),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        unknown, gpu = obstacles.nvidia_unknown(trace), devices.first_nvidia(trace)
        if unknown is not None:
            return unknown
        if products.gains_by_tf32(trace):
            return _HIDDEN if products.hides_tf32(trace) else None
        if products.has_tf32(trace):
            return NotApplicable(f"{gpu} is no faster in TF32 than in float32")
        return NotApplicable(f"{gpu} has no TF32")

    def find(self, trace: Trace) -> Matches:
        found = products.without_tf32(trace)
        for events in places.parts(found, lambda each: (each.location, each.kind)):
            rows = launches.work_or_ops(trace, rows_of(events))
            yield Match(events, "float32 products on ordinary cores; this GPU has TF32", rows)

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Kernels as long as Tensor Cores would take, or memory needs to read the factors."""
        rows = launches.work_or_ops(trace, rows_of(events))
        compute = {device.compute for device in devices.used_devices(trace, "nvidia")}
        ratio = 8 if compute <= _FULL_RATE else 2
        spent = trace.duration_ns[rows]
        spent_ns = max(int(spent.sum()), 1)
        nbytes = trace.by_call(rows_of(events), lambda _, inputs_id: _nbytes(trace, inputs_id))
        memory = int(nbytes.sum()) / _BYTES_PER_NS / spent_ns
        large = int(spent[spent >= _LARGE_NS].sum()) / spent_ns
        worst = (large * _LARGE_LEFT + (1 - large) * _SMALL_LEFT) / ratio
        if events[0].kind == EventKind.Kernel:
            worst = max(worst, _UNKNOWN_LEFT)
        left = min(max(1 / ratio, memory), 1.0), min(max(worst, 2 * memory), 1.0)
        return Edit("the products in TF32", work=rows, left=left)


def _nbytes(trace: Trace, inputs_id: int) -> int:
    """The bytes of the factors of a product."""
    shapes = [dims for dims in trace.inputs.shapes(inputs_id) if is_dims(dims) and len(dims) > 1]
    return 4 * sum(map(math.prod, shapes))
