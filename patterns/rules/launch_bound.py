"""TDY402: kernels so short that the GPU waits for the next launch."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import indent
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Capability, EventKind, Intervals, Trace, remedy

from ..allocator import driver_rows
from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device
from ..timing import device_idle, step_of

_LAUNCH = re.compile(r"(cuda|cu|hip)\w*Launch\w*Kernel\w*")
_GRAPH = re.compile(r"(cuda|cu|hip)GraphLaunch\w*")
_WAIT = re.compile(r"(cuda|cu|hip)\w*Synchronize|(cuda|hip)Memcpy\w*")
_FETCH = "enumerate(DataLoader)#*"
_FEWEST_KERNELS = 20  # a step
_LEAST_IDLE = 0.5
# A longer gap is no launch but something that the host did in between.
_LONGEST_GAP_NS = 200_000


# Examples: twenty ops one after the other, 10 us apart.
_OPS = "aten::relu 9us\n  cudaLaunchKernel 5us\n    => relu_kernel {us}us\n" * 20


def _example(kernel_us: int) -> str:
    ops = indent(_OPS.format(us=kernel_us), "    ")
    return f"# device 0 NVIDIA A100 8.0\nmain.py(1): main\n  ProfilerStep#1\n{ops}"


class _Steps(NamedTuple):
    """What ran in the steps.

    Attributes:
        gaps: short times without device work that no loader, wait or allocation explains.
    """

    kernels: NDArray[np.int64]
    launches: NDArray[np.int64]
    gaps: Intervals


class LaunchBound(Pattern):
    """Kernels are shorter than it takes to launch them, and the GPU idles from one to the next.

        median kernel < median cudaLaunchKernel            20 kernels a step or more
        no device work for half of the step or more        in gaps of up to 0.2 ms each

    Gaps in which the host loads data, waits for the device, copies or asks for memory do not
    count, nor do longer ones, in which it does something else.

    Cost: the launches; with them what Python and PyTorch do for each op.
    Instead: larger batches; `torch.compile(mode="reduce-overhead")` or CUDA graphs, which launch
    many kernels at once; fused optimizers and fused ops.
    Misses: runs without steps; CUDA graphs, whose kernels have no launches of their own. Recording
    slows the host, and Python stacks most: without them the GPU idles less. So this is info.
    """

    code = "TDY402"
    severity = Severity.INFO
    needs = frozenset({Capability.DEVICE})
    fix = 'larger batches, torch.compile(mode="reduce-overhead"), or CUDA graphs'
    examples = (
        Fires(
            "short-kernels",
            _example(kernel_us=1),
            events=20,
        ),
        Quiet("long-kernels", _example(kernel_us=8)),
        Quiet("as-long-as-a-launch", _example(kernel_us=5)),
        Quiet(
            "few-kernels",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 60us
              aten::relu 20us
                cudaLaunchKernel 5us
                  => relu_kernel 1us
            """,
        ),
        Abstains(
            "cuda-graph",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 60us
              cudaGraphLaunch 5us
                => relu_kernel 1us
                => relu_kernel 1us
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::relu"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is not None:
            return obstacle
        if any(map(_GRAPH.fullmatch, trace.names)):
            return NotChecked(
                "kernels of CUDA graphs have no launches of their own",
                "record a few steps without CUDA graphs",
            )
        kernels, launches = trace.rows_of_kind(EventKind.Kernel), _calls(trace, _LAUNCH)
        if (
            trace.steps
            or len(kernels) < _FEWEST_KERNELS
            or not _are_short(trace, kernels, launches)
        ):
            return None
        return NotChecked("no steps recorded", remedy([Capability.STEPS]))

    def check(self, trace: Trace) -> Iterable[Finding]:
        found = _in_steps(trace)
        a_step = len(found.kernels) / max(len(trace.steps), 1)
        idle = found.gaps.total_ns / max(trace.step_time.total_ns, 1)
        if a_step < _FEWEST_KERNELS or idle < _LEAST_IDLE:
            return
        if not _are_short(trace, found.kernels, found.launches):
            return
        kernel_ns, launch_ns = _median_ns(trace, found.kernels), _median_ns(trace, found.launches)
        has_stacks = Capability.STACKS in trace.capabilities
        cost_ns = trace.time_of(found.launches.tolist()).total_ns
        yield self.report(
            trace,
            list(trace.events(found.launches)),
            message=(
                f"{a_step:.0f} kernels a step of {kernel_ns / 1000:.1f} us, which is less than a "
                f"launch ({launch_ns / 1000:.1f} us); idle between them for {idle:.0%} of the steps"
                + (", with Python stacks recorded" if has_stacks else "")
            ),
            location=None,
            saving=Saving(0, min(cost_ns, found.gaps.total_ns), "all launches but a few"),
        )


def _in_steps(trace: Trace) -> _Steps:
    kernels = trace.rows_of_kind(EventKind.Kernel)
    launches = _calls(trace, _LAUNCH)
    idle = device_idle(trace)
    short = idle.ends_ns - idle.starts_ns <= _LONGEST_GAP_NS
    gaps = Intervals(idle.starts_ns[short], idle.ends_ns[short]) & trace.step_time
    explained = [*_calls(trace, _WAIT), *driver_rows(trace), *trace.rows_named(_FETCH)]
    return _Steps(
        kernels[step_of(trace, trace.start_ns[kernels]) >= 0],
        launches[step_of(trace, trace.start_ns[launches]) >= 0],
        gaps - trace.time_of(explained),
    )


def _median_ns(trace: Trace, rows: NDArray[np.int64]) -> float:
    return float(np.median(trace.duration_ns[rows]))


def _are_short(trace: Trace, kernels: NDArray[np.int64], launches: NDArray[np.int64]) -> bool:
    """Whether a typical kernel takes less time than a typical launch."""
    if not len(kernels) or not len(launches):
        return False
    return _median_ns(trace, kernels) < _median_ns(trace, launches)


def _calls(trace: Trace, names: re.Pattern[str]) -> NDArray[np.int64]:
    matched = [i for i, name in enumerate(trace.names) if names.fullmatch(name)]
    rows = trace.rows_of_kind(EventKind.Runtime)
    return rows[np.isin(trace.name_id[rows], matched)]
