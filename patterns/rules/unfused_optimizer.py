"""TDY602: an optimizer whose update takes many kernels where one pass would do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tidy.finding import Finding, NotApplicable, NotChecked, Severity
from tidy.trace import Capability, Event, EventKind, Trace

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import used_devices, without_device

# What torch.optim has in a fused form on CUDA (2.13).
_STEP = re.compile(r"Optimizer\.step#(Adam|AdamW|SGD|Adagrad)\.step")
_FOREACH = "aten::_foreach_"
# One alone reads and writes everything once, as a fused op does: SGD without momentum. It may also
# be how a fused step counts, where the recording was cut before the rest.
_FEWEST_OPS = 2
_FUSED = re.compile(r"aten::_fused_|.*multi_tensor|Torch-Compiled|.*triton")


class UnfusedOptimizer(Pattern):
    """An optimizer updates with one foreach op after the other where one fused op would do.

        Optimizer.step#Adam.step
          aten::_foreach_lerp_, aten::_foreach_mul_, ...    with kernels on the device
          NOT aten::_fused_adam_

    Cost: each of these ops reads and writes all gradients, parameters or moments once more; fused,
    they are read and written once.
    Instead: `fused=True`, which Adam, AdamW, SGD and Adagrad have; older versions of PyTorch have
    it for some of them only. Foreach is the default on CUDA, and a sound one, so this is info. One
    foreach op alone, as SGD has without momentum, is no worse than a fused one.
    Misses: optimizers outside torch.optim; AMD. Parameters that are not floating point, gradients
    that are sparse and `differentiable=True` cannot be fused.
    """

    code = "TDY602"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "pass fused=True to the optimizer"
    examples = (
        Fires(
            "foreach",
            """
            # device 0 NVIDIA A100 8.0
            train.py(9): train
              Optimizer.step#AdamW.step
                aten::_foreach_lerp_
                  cudaLaunchKernel
                    => multi_tensor_apply_kernel 9us
                aten::_foreach_mul_
                  cudaLaunchKernel
                    => multi_tensor_apply_kernel 9us
            """,
            at="train.py:9",
        ),
        Quiet(
            "fused",
            """
            # device 0 NVIDIA A100 8.0
            Optimizer.step#AdamW.step
              aten::_foreach_add_
                cudaLaunchKernel
                  => multi_tensor_apply_kernel 2us
              aten::_fused_adamw_
                cudaLaunchKernel
                  => multi_tensor_apply_kernel 9us
            """,
        ),
        Quiet(
            "one-op",
            """
            # device 0 NVIDIA A100 8.0
            Optimizer.step#SGD.step
              aten::_foreach_add_
                cudaLaunchKernel
                  => multi_tensor_apply_kernel 9us
            """,
        ),
        Quiet(
            "not-to-be-had",
            """
            # device 0 NVIDIA A100 8.0
            Optimizer.step#RMSprop.step
              aten::_foreach_mul_
                cudaLaunchKernel
                  => multi_tensor_apply_kernel 9us
            """,
        ),
        Quiet(
            "parameters-on-the-cpu",
            """
            # device 0 NVIDIA A100 8.0
            Optimizer.step#SGD.step
              aten::_foreach_add_
            aten::mm
              cudaLaunchKernel
                => gemm 9us
            """,
        ),
        Abstains(
            "amd",
            """
            # hip_runtime_version 60000000
            # device 0 AMD Instinct MI300X
            Optimizer.step#SGD.step
              aten::_foreach_add_
                hipLaunchKernel
                  => multi_tensor_apply_kernel 9us
            """,
        ),
        Abstains("cpu-run", "Optimizer.step#SGD.step\\n  aten::_foreach_add_"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is None and not any(d.vendor == "nvidia" for d in used_devices(trace)):
            return NotApplicable("no NVIDIA GPU took part in this run")
        return obstacle

    def check(self, trace: Trace) -> Iterable[Finding]:
        work: dict[Event, list[int]] = {}
        steps = [name for name in trace.names if _STEP.fullmatch(name)]
        for step in trace.named(*steps) if steps else ():
            kernels = _grouped_kernels(step) if step.kind == EventKind.Annotation else []
            if kernels:
                work[step] = kernels
        places: dict[object, list[Event]] = {}
        for step in work:
            places.setdefault((step.location, step.name), []).append(step)
        for events in places.values():
            match = _STEP.fullmatch(events[0].name)
            yield self.report(
                trace,
                events,
                message=f"{match[1] if match else 'the optimizer'} updates with many kernels "
                "where one fused kernel would do",
                cost_rows=[row for event in events for row in work[event]],
            )


def _grouped_kernels(step: Event) -> list[int]:
    """Kernels of the foreach ops of an optimizer step; none where nothing is to be fused."""
    rows: list[int] = []
    ops = 0
    for event in step.trace.within(step.start_ns, step.end_ns, int(step.trace.track_id[step.row])):
        if _FUSED.match(event.name):
            return []
        if event.name.startswith(_FOREACH):
            found = step.trace.device_rows_under(event.row).tolist()
            rows += found
            ops += bool(found)
    return rows if ops >= _FEWEST_OPS else []
