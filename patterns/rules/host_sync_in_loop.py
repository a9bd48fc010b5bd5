"""TDY301: the host reads a value of a device tensor, and waits, again and again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress

import numpy as np

from tidy.finding import Finding, NotApplicable, NotChecked, Severity
from tidy.trace import Capability, Event, EventKind, Intervals, Trace, remedy

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import any_busy, without_device
from ..places import Loop, Owner, owner_of, place_of, within_range
from ..waits import (
    Wait,
    calls_that_launched,
    costing,
    idle_after,
    saving_of,
    severity_of,
    waiting_calls,
)

# Ops that read from the device: a value, or how large their result will be.
_READS = {
    "aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::nonzero",
    "aten::nonzero_numpy", "aten::masked_select", "aten::_unique", "aten::_unique2",
    "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive",
    "aten::repeat_interleave", "aten::bincount", "aten::equal",
}  # fmt: skip
_COPIES = {"aten::copy_", "aten::_to_copy", "aten::to"}
_SHOWN = {
    "aten::item": ".item() or float(tensor)",
    "aten::_local_scalar_dense": ".item() or float(tensor)",
    "aten::is_nonzero": "a tensor as a condition (if tensor:)",
    "aten::index": "indexing with a mask",
    "aten::index_put_": "assignment to a mask",
} | dict.fromkeys(_COPIES, ".cpu(), .tolist() or .numpy()")
_ENOUGH = 3  # reads at one place, in whatever steps
_SCALER_OP = "aten::_amp_foreach_non_finite_check_and_unscale_"


class HostSyncInLoop(Pattern):
    """A value of a GPU tensor is read in the training loop, and the host waits for the GPU.

        aten::item, aten::is_nonzero, aten::nonzero, aten::to, aten::index, ...
          cudaMemcpyAsync => Memcpy DtoH
          cudaStreamSynchronize

    That is .item(), float(t), if t:, .cpu(), .tolist(), nonzero(), unique(), t[mask]. Counted only
    where the host did wait, so reading CPU tensors is none; and where it repeats at one place, in
    two steps or three times.

    Cost: the GPU has run out of work, and idles until the host has launched more. Time to the next
    device work counts, up to the end of the step, and no more than the host waited. It is said as
    info where it is rarer than once a step, where waiting or idling is below 1 % of the steps, and
    inside an optimizer.
    Instead: keep the value on the GPU and read it once, after the loop or every N steps;
    `torch.where` instead of a mask or a condition.
    Misses: syncs inside ops of extensions. The gradient scaler of mixed precision is left alone: it
    has to know whether gradients overflowed. Copies to the GPU are TDY103 and TDY104.
    """

    code = "TDY301"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "keep it on the GPU; read once after the loop, or every N steps"
    examples = (
        Fires(
            "item",
            """
            # device 0 NVIDIA A100 8.0
            train.py(7): train
              ProfilerStep#1 900us
                aten::mm
                  cudaLaunchKernel
                    => gemm 100us
                aten::item
                  aten::_local_scalar_dense
                    cudaMemcpyAsync 100us
                      => Memcpy DtoH (Device -> Pageable) 1us 4B
                    cudaStreamSynchronize 5us
                aten::zeros 50us
                aten::relu
                  cudaLaunchKernel
                    => relu
              ProfilerStep#2 900us
                aten::mm
                  cudaLaunchKernel
                    => gemm 100us
                aten::item
                  aten::_local_scalar_dense
                    cudaMemcpyAsync 100us
                      => Memcpy DtoH (Device -> Pageable) 1us 4B
                    cudaStreamSynchronize 5us
                aten::zeros 50us
                aten::relu
                  cudaLaunchKernel
                    => relu
            """,
            events=2,
            at="train.py:7",
        ),
        Fires(
            "mask-on-rocm",
            """
            # device 0 AMD-Instinct
            train.py(7): train
              ProfilerStep#1 500us
                aten::index
                  aten::nonzero
                    hipMemcpyWithStream 20us
                      => Memcpy DtoD (Device -> Device) 1us
              ProfilerStep#2 500us
                aten::index
                  aten::nonzero
                    hipMemcpyWithStream 20us
                      => Memcpy DtoD (Device -> Device) 1us
            """,
            events=2,
            at="train.py:7",
            severity=Severity.INFO,
        ),
        Quiet(
            "on-the-cpu",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::item
                aten::_local_scalar_dense
              aten::mm
                cudaLaunchKernel
                  => gemm
            ProfilerStep#2
              aten::item
                aten::_local_scalar_dense
            """,
        ),
        Quiet(
            "once",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::mm
                cudaLaunchKernel
                  => gemm
            ProfilerStep#2
              aten::item
                aten::_local_scalar_dense
                  cudaMemcpyAsync
                    => Memcpy DtoH (Device -> Pageable) 1us 4B
                  cudaStreamSynchronize 90us
            """,
        ),
        Quiet(
            "gradient-scaler",
            """
            # device 0 NVIDIA A100 8.0
            train.py(7): train
              ProfilerStep#1
                torch/amp/grad_scaler.py(340): _maybe_opt_step
                  aten::item
                    aten::_local_scalar_dense
                      cudaMemcpyAsync
                        => Memcpy DtoH (Device -> Pageable) 1us 4B
                      cudaStreamSynchronize 90us
              ProfilerStep#2
                torch/amp/grad_scaler.py(340): _maybe_opt_step
                  aten::item
                    aten::_local_scalar_dense
                      cudaMemcpyAsync
                        => Memcpy DtoH (Device -> Pageable) 1us 4B
                      cudaStreamSynchronize 90us
            """,
        ),
        Quiet(
            "asynchronous-read",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1
              aten::copy_ | float[8], float[8], =True
                cudaMemcpyAsync
                  => Memcpy DtoH (Device -> Pinned) 1us 32B
            ProfilerStep#2
              aten::copy_ | float[8], float[8], =True
                cudaMemcpyAsync
                  => Memcpy DtoH (Device -> Pinned) 1us 32B
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::item\n    aten::_local_scalar_dense"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is None and not len(trace.rows_of_kind(EventKind.Runtime)):
            return NotChecked("no CUDA or HIP calls recorded", remedy([Capability.DEVICE]))
        return obstacle

    def check(self, trace: Trace) -> Iterable[Finding]:
        loop, busy = Loop(trace), any_busy(trace)
        places: dict[object, list[Wait]] = {}
        for wait in _reads(trace):
            places.setdefault(place_of(wait.event), []).append(wait)
        for found in places.values():
            counts = loop.repeated([wait.event.start_ns for wait in found], enough=_ENOUGH)
            waits = list(compress(found, counts))
            if waits:
                yield self._finding(trace, waits, busy)

    def _finding(self, trace: Trace, waits: list[Wait], busy: Intervals) -> Finding:
        events = [wait.event for wait in waits]
        in_optimizer = owner_of(events[0]) == Owner.OPTIMIZER
        idle = idle_after(trace, waits, busy)
        shown = _SHOWN.get(events[0].name, f"{events[0].name} on the GPU")
        where = " inside the optimizer" if in_optimizer else within_range(events)
        finding = self.report(
            trace,
            events,
            message=f"{shown} makes the host wait for the GPU{where}",
            severity=Severity.INFO if in_optimizer else severity_of(trace, waits, busy),
        )
        return costing(finding, trace, idle, saving_of(idle, waits), on_device=True)


def _reads(trace: Trace) -> Iterable[Wait]:
    """The outermost ops in which a value is read and waited for, by start."""
    waiting = waiting_calls(trace)
    waits = set(waiting.tolist())
    found: dict[int, list[int]] = {}
    for call in np.union1d(waiting, calls_that_launched(trace, "Memcpy DtoH*")).tolist():
        above = int(trace.caller[call])
        if above < 0 or trace.kind[above] != EventKind.TorchOp:
            continue
        op = trace.event(above)
        # A read cannot but wait, also where the file has lost the call that does; a copy can.
        if op.name in _READS or (op.name in _COPIES and call in waits and _is_download(op)):
            found.setdefault(_outermost(trace, above), []).append(call)
    unscales = len(trace.rows_named(_SCALER_OP)) > 0
    for row in sorted(found):
        event, calls = trace.event(row), found[row]
        owner = owner_of(event)
        if owner in (Owner.PROFILER, Owner.GRAD_SCALER) or (unscales and _decides_a_step(event)):
            continue
        waited_ns = trace.time_of(calls).total_ns
        yield Wait(event, waited_ns, max(int(trace.end_ns[call]) for call in calls))


def _is_download(copy: Event) -> bool:
    return any("DtoH" in work.name for work in copy.kernels)


def _outermost(trace: Trace, row: int) -> int:
    """The op of PyTorch that was called, of those around a row."""
    above = int(trace.parent[row])
    while above >= 0 and trace.kind[above] == EventKind.TorchOp:
        if not trace.names[trace.name_id[above]].startswith("aten::"):
            break
        row, above = above, int(trace.parent[above])
    return row


def _decides_a_step(event: Event) -> bool:
    """Whether an optimizer step follows at once, as in the gradient scaler; for want of stacks."""
    after = event.next_sibling
    return after is not None and after.name.startswith("Optimizer.step#")
