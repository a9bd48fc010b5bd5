"""TDY602: an optimizer whose update takes many kernels where one pass would do."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np

from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Trace, rows_of

from ..base import DevicePattern, Match, Matches
from ..evidence.device import devices, launches, obstacles
from ..evidence.fixes import edits, optimizers
from ..evidence.python import places
from ..evidence.python.made_places import made_at
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, launch, on_gpu, under
from ..option import Option

# What torch.optim has in a fused form on CUDA (2.13).
_STEP = optimizers.step_pattern(("Adam", "AdamW", "SGD", "Adagrad"))
_FOREACH = "aten::_foreach_*"
_FUSED = re.compile(optimizers.FUSED)

_KERNEL = "multi_tensor_apply_kernel 9us"
_ADAMW, _SGD = "Optimizer.step#AdamW.step", "Optimizer.step#SGD.step"
_LERP, _ADD = launch("aten::_foreach_lerp_", _KERNEL), launch("aten::_foreach_add_", _KERNEL)
_FUSED_OP = launch("aten::_fused_adamw_", _KERNEL)
_FUNCTION = "torch/optim/adam.py(554): _multi_tensor_adam"
_OF_APEX = "apex/multi_tensor_apply/multi_tensor_apply.py(27): __call__"
_AMD = "# hip_runtime_version 60000000\n# device 0 AMD Instinct MI300X\n"
_ADD_ON_AMD = launch("aten::_foreach_add_", _KERNEL, call="hipLaunchKernel")


class UnfusedOptimizer(DevicePattern):
    """An optimizer updates with one foreach op after the other where one fused op would do.

    What it does: It finds optimizer steps with two foreach ops or more on the GPU and no fused op.
    Foreach is the default on CUDA, and a sound one, so this is info where no replay says that it
    saves something. A single foreach op, as SGD has without momentum, is no worse than a fused one.
    Why it costs: Each of these ops reads and writes all gradients, parameters or moments once more;
    fused, they are read and written once.
    Example: `torch.optim.Adam(model.parameters())`, whose step is recorded as

        Optimizer.step#Adam.step
          aten::_foreach_lerp_, aten::_foreach_mul_, ...    with kernels on the device
          NOT aten::_fused_adam_

    Instead: Pass `fused=True`, which Adam, AdamW, SGD and Adagrad have; older versions of PyTorch
    have it for some of them only.
    Cannot see: It misses optimizers outside torch.optim and runs on AMD. The trace does not tell
    what cannot be fused: parameters that are not floating point, sparse gradients and
    `differentiable=True`.
    """

    code = "TDY602"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "pass fused=True to the optimizer"
    fewest_ops = Option(
        2, "one alone is as good as a fused op (SGD without momentum), or counts its steps", least=1
    )
    examples = (
        Fires("foreach", on_gpu(under(_ADAMW, _LERP, _ADD), frame=FRAME), at=AT),
        Fires("stacks", on_gpu(under(f"{FRAME} > {_ADAMW} > {_FUNCTION}", _LERP, _ADD)), at=AT),
        Quiet("fused", on_gpu(under(_ADAMW, _ADD, _LERP, _FUSED_OP))),
        Quiet("of-apex", on_gpu(under(_ADAMW, under(_OF_APEX, _ADD, _LERP)))),
        Quiet("one-op", on_gpu(under(_SGD, _ADD))),
        Quiet("not-to-be-had", on_gpu(under("Optimizer.step#RMSprop.step", _ADD * 2))),
        Quiet("parameters-on-the-cpu", on_gpu(under(_SGD, "aten::_foreach_add_\n" * 2), WORK)),
        Abstains("amd", _AMD + under(_SGD, _ADD_ON_AMD * 2)),
        Abstains("cpu-run", under(f"{_SGD} > aten::_foreach_add_")),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return None if devices.used_devices(trace, "nvidia") else obstacles.NO_NVIDIA_GPU

    def find(self, trace: Trace) -> Matches:
        ranges = optimizers.optimizer_steps(trace, _STEP)
        kernels_of = {step: kernels for step in ranges if (kernels := self._grouped_kernels(step))}
        for events in places.parts(kernels_of, lambda step: (step.location, step.name)):
            match = _STEP.fullmatch(events[0].name)
            who = match[1] if match else "the optimizer"
            kernels = [row for event in events for row in kernels_of[event]]
            rows = rows_of(events)
            host = edits.host_time(trace, rows)
            yield Match(
                events,
                f"{who} updates with many kernels where one fused kernel would do",
                trace.time_of(np.append(rows, kernels)),
                # One pass over memory where SGD has three and Adam some eight; one op for as many.
                Edit("one fused op", host, kernels, left=(0.2, 0.7), work_left=(0.35, 0.7)),
                at_most=Severity.WARNING,
                fix_place=made_at(trace, "optimizer", events[0].location),
            )

    def _grouped_kernels(self, step: Event) -> list[int]:
        """Kernels of the foreach ops of an optimizer step; none where nothing is to be fused."""
        trace, inside = step.trace, optimizers.rows_in(step)
        if any(map(_FUSED.match, optimizers.names_in(step))):
            return []
        ops = inside[launches.has_name(trace, _FOREACH)[trace.name_id[inside]]]
        kernels = (trace.device_rows_under(op).tolist() for op in ops.tolist())
        launching = [each for each in kernels if each]
        return list(chain.from_iterable(launching)) if len(launching) >= self.fewest_ops else []
