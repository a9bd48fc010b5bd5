"""TDY601: an optimizer that updates one parameter after the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tidy.finding import Finding, Severity
from tidy.trace import Event, EventKind, Trace

from ..base import Pattern
from ..examples import Fires, Quiet

# What torch.optim has in a multi-tensor form (2.13); Muon, LBFGS and SparseAdam have none.
_CLASSES = (
    "Adadelta Adafactor Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD"
).split()
_FRAME = re.compile(rf".*: _single_tensor_({'|'.join(_CLASSES)})", re.IGNORECASE)
_STEP = re.compile(rf"Optimizer\.step#({'|'.join(_CLASSES)})\.step")
_GROUPED = re.compile(r"aten::_foreach_|.*_fused_|.*multi_tensor|Torch-Compiled|.*triton")
_UPDATES = frozenset(
    f"aten::{n}" for n in ("add_", "addcdiv_", "addcmul_", "lerp_", "mul_", "sub_")
)
# With fewer parameters there is nothing to group.
_FEWEST_UPDATES = 4


class SingleTensorOptimizer(Pattern):
    """An optimizer updates its parameters one by one, with a few small ops for each.

        torch/optim/adam.py(...): _single_tensor_adam        with Python stacks

        Optimizer.step#Adam.step                             without
          aten::lerp_, aten::mul_, aten::addcmul_, ... for each parameter
          NOT aten::_foreach_..., NOT aten::_fused_...

    Cost: on a GPU the launches; parameters are small and many, so the kernels are too.
    Instead: `foreach=True`, PyTorch's default on CUDA, or better `fused=True` where the optimizer
    has it. On a CPU foreach rarely helps, so it is said as info there.
    Misses: optimizers outside torch.optim; models of fewer than four parameters, without stacks.
    """

    code = "TDY601"
    fix = "pass fused=True (or foreach=True) to the optimizer"
    examples = (
        Fires(
            "frame",
            """
            # device 0 NVIDIA A100 8.0
            train.py(9): train
              torch/optim/adam.py(213): step
                torch/optim/adam.py(347): _single_tensor_adam
                  aten::addcdiv_
                    cudaLaunchKernel
                      => elementwise_kernel
            """,
            at="train.py:9",
        ),
        Fires(
            "without-stacks",
            """
            # device 0 NVIDIA A100 8.0
            Optimizer.step#RMSprop.step
              aten::addcmul_
                cudaLaunchKernel
                  => elementwise_kernel
              aten::addcdiv_
              aten::addcmul_
              aten::addcdiv_
              aten::addcmul_
              aten::addcdiv_
              aten::addcmul_
              aten::addcdiv_
            """,
        ),
        Fires(
            "cpu",
            """
            train.py(9): train
              torch/optim/sgd.py(330): _single_tensor_sgd
                aten::add_
            """,
            at="train.py:9",
            severity=Severity.INFO,
        ),
        Quiet(
            "foreach",
            """
            Optimizer.step#SGD.step
              aten::_foreach_add_
                aten::add_
                aten::add_
                aten::add_
                aten::add_
            """,
        ),
        Quiet(
            "muon",
            """
            train.py(9): train
              torch/optim/_muon.py(330): _single_tensor_muon
                aten::add_
            """,
        ),
    )

    def check(self, trace: Trace) -> Iterable[Finding]:
        names = [name for name in trace.names if _FRAME.fullmatch(name)]
        frames = trace.rows_named(*names).tolist()
        steps = [name for name in trace.names if _STEP.fullmatch(name)]
        events = list(trace.events(frames))
        explained = trace.time_of(frames)
        for step in trace.named(*steps) if steps else ():
            covered = explained.overlaps(step.start_ns, step.end_ns)
            if step.kind == EventKind.Annotation and not covered and _updates_one_by_one(step):
                events.append(step)
        return self.report_all(trace, events)

    def severity_of(self, event: Event) -> Severity:
        return Severity.WARNING if event.trace.devices_used else Severity.INFO

    def message(self, events: Iterable[Event]) -> str:
        names = {
            m[1].lower()
            for e in events
            if (m := _FRAME.fullmatch(e.name) or _STEP.fullmatch(e.name))
        }
        return f"{' and '.join(sorted(names))} updates one tensor at a time"


def _updates_one_by_one(step: Event) -> bool:
    """Whether the ops of a step are per-parameter updates and none is a grouped one."""
    counts: Counter[str] = Counter()
    for event in step.trace.within(step.start_ns, step.end_ns, int(step.trace.track_id[step.row])):
        if _GROUPED.match(event.name):
            return False
        if event.name in _UPDATES:
            counts[event.name] += 1
    return max(counts.values(), default=0) >= _FEWEST_UPDATES
