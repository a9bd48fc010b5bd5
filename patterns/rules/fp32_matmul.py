"""TDY501: single-precision matrix products on a GPU that has TF32."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Capability, Event, EventKind, Trace

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import used_devices, without_device

# Kernels that multiply in float32 on ordinary cores, and what shows that Tensor Cores took part.
_ORDINARY = re.compile(r"sgemm|simt|gemmSN|ffma|f32f32_f32f32", re.IGNORECASE)
_TENSOR_CORES = re.compile(r"tf32|tensorop|s1688|s16816|nvjet|wgmma|bf16", re.IGNORECASE)
_FIRST_WITH_TF32 = (8, 0)
# A100: 19.5 TFLOP/s in float32, 156 in TF32 (NVIDIA A100 data sheet).
_PEAK_RATIO = 8
# A product here and there is float32 on purpose, such as the angles of rotary embeddings.
_WORTH_A_WARNING = 0.01


class FP32Matmul(Pattern):
    """A float32 matrix product runs without Tensor Cores on a GPU that could use TF32.

        aten::mm, aten::addmm, aten::bmm, aten::baddbmm    Input type float
          => a kernel named sgemm, simt, ...               not tf32, tensorop, s1688, nvjet

    The trace does not hold `allow_tf32`, so the kernel that ran is the evidence, not the setting.

    Cost: on an A100 ordinary cores have an eighth of the rate of TF32.
    Instead: `torch.set_float32_matmul_precision("high")`, if ten bits of mantissa are enough for
    the model; or autocast to bfloat16.
    Misses: convolutions (cuDNN uses TF32 by default); products whose kernel the profiler lost.
    Below 1 % of the step it is said as info, since some products are float32 on purpose.
    Quiet on AMD and before compute capability 8.0, which have no TF32.
    """

    code = "TDY501"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    triggers = frozenset({"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"})
    fix = 'torch.set_float32_matmul_precision("high") lets Tensor Cores do it (TF32)'
    examples = (
        Fires(
            "a100",
            """
            # device 0 NVIDIA A100 8.0
            train.py(4): train
              aten::mm | float[64, 64], float[64, 64]
                cudaLaunchKernel
                  => ampere_sgemm_64x64_nn 40us
            """,
            at="train.py:4",
        ),
        Quiet(
            "tf32",
            """
            # device 0 NVIDIA A100 8.0
            aten::mm | float[64, 64], float[64, 64]
              cudaLaunchKernel
                => sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16 9us
            """,
        ),
        Quiet(
            "half",
            """
            # device 0 NVIDIA A100 8.0
            aten::mm | c10::Half[64, 64], c10::Half[64, 64]
              cudaLaunchKernel
                => ampere_fp16_s16816gemm_fp16_64x64 9us
            """,
        ),
        Abstains(
            "v100",
            """
            # device 0 Tesla V100 7.0
            aten::mm | float[64, 64], float[64, 64]
              cudaLaunchKernel
                => volta_sgemm_64x64_nn 40us
            """,
        ),
        Abstains("cpu-run", "aten::mm | float[64, 64], float[64, 64]"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is not None:
            return obstacle
        nvidia = [d for d in used_devices(trace) if d.vendor == "nvidia"]
        if not nvidia:
            return NotApplicable("no NVIDIA GPU took part in this run")
        if any(d.compute is None for d in nvidia):
            return NotChecked(
                "the trace does not say which GPU it is", "keep deviceProperties in the file"
            )
        if not any(d.compute and d.compute >= _FIRST_WITH_TF32 for d in nvidia):
            return NotApplicable(f"{nvidia[0].name or 'this GPU'} has no TF32")
        return None

    def match(self, event: Event) -> bool:
        if event.input_dtypes[:1] != ("float",):
            return False
        kernels = [work.name for work in event.kernels if work.kind == EventKind.Kernel]
        return any(map(_ORDINARY.search, kernels)) and not any(map(_TENSOR_CORES.search, kernels))

    def check(self, trace: Trace) -> Iterable[Finding]:
        places: dict[object, list[Event]] = {}
        for event in self.matched_events(trace):
            places.setdefault(event.location, []).append(event)
        for events in places.values():
            work = [row for event in events for row in trace.device_rows_under(event.row).tolist()]
            spent = trace.time_of(work)
            share = trace.step_share(spent) or 0.0
            yield self.report(
                trace,
                events,
                severity=Severity.WARNING if share >= _WORTH_A_WARNING else Severity.INFO,
                cost_rows=work,
                saving=Saving(
                    0,
                    spent.total_ns - spent.total_ns // _PEAK_RATIO,
                    "none where memory is the limit, up to the ratio of peak rates",
                ),
            )

    def message(self, events: Sequence[Event]) -> str:
        return "float32 products on ordinary cores; this GPU has TF32"
