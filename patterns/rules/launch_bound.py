"""TDY402: a device that idles while the next kernels are launched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Event, Events, Trace, rows_of, time_text

from ..base import DevicePattern
from ..evidence import decoding, edits, graphs, launches, obstacles, timing
from ..evidence.capture import captured_steps
from ..evidence.host_idle import host_idle
from ..examples import FRAME, Abstains, Fires, Quiet, launch, on_gpu, steps
from ..match import Match
from ..option import Option, share

_COMPILED = ("Torch-Compiled Region*", "## Call CompiledFxGraph*", "CompiledFunction*")

_CAPTURE = 'capture the step in a CUDA graph, or torch.compile(mode="reduce-overhead")'

_WHOLE_OR_MODEL = "the whole step captured, or the model's forward and backward alone"

_STEP, _CALL = "ProfilerStep#1 60us", "cudaLaunchKernel 5us"
_LOST = launch("graph", call="cudaGraphLaunch 5us")
_RECORDED = launch("graph", "a 1us", "b 1us", call="cudaGraphLaunch 5us")


def _example(kernel_us: int, count: int = 20, op_us: int = 9) -> str:
    """Ops one after the other, 1 us apart."""
    op = launch(f"aten::relu {op_us}us", f"relu_kernel {kernel_us}us", call=_CALL)
    return on_gpu(steps(op * count, count=1, lasts_us=None), frame=FRAME)


class LaunchBound(DevicePattern):
    """The GPU idles while operators launch its next kernels, one after the other.

    What it does: It takes from the account the time in which no device works and the host launches,
    or a launch is on its way, in steps of 10 kernels or more; 15 % of the window has to be so. What
    the host does after a wait, for as long as it waited, is the wait's (TDY301, TDY302), as the
    optimizer's launches are the optimizer's (TDY601) and a loader's the loader's. Operators that
    take longer than 0.2 ms for each launch do something else besides and do not count. Where three
    steps or more launch the same, on inputs of the same sizes, and wait for nothing meanwhile, one
    graph could launch each: then all idle time that a graph does without counts.
    Why it costs: The step takes as long as the host takes to launch it; a faster GPU changes
    nothing.
    Example: Many small ops on small tensors, recorded as

        aten::relu
          cudaLaunchKernel 5us => a kernel of 1us         10 or more in a step

    Instead: Use larger batches, `torch.compile(mode="reduce-overhead")` or CUDA graphs, which
    launch many kernels at once, fused optimizers and fused ops. Where tokens are decoded one by
    one, a static key-value cache makes graphs possible.
    Cannot see: Beside a modelled device operators take the time of tidy.runtime: there kernels have
    to be shorter than the call that launches them, as well, and it is info. It is not checked where
    kernels of CUDA graphs were not recorded, or the file was thinned out: what looks idle need not
    be. That tokens are decoded one by one, it sees by shapes.
    """

    code = "TDY402"
    severity = Severity.INFO
    needs = frozenset({})
    fix = 'larger batches, torch.compile(mode="reduce-overhead"), or CUDA graphs'
    fewest_kernels = Option(10, "a step of fewer kernels than this is not bound by launches")
    least_idle = share(
        0.15,
        "where less of the window is idle because of launching, it has another cause first",
    )
    examples = (
        Fires("short-kernels", _example(kernel_us=1), events=20),
        Fires("as-long-as-a-launch", _example(kernel_us=5), events=20),
        Quiet("long-kernels", _example(kernel_us=10)),
        Quiet("long-ops", _example(kernel_us=1, op_us=900)),
        Quiet("few-kernels", on_gpu(launch(f"{_STEP} > aten::relu 20us", "relu 1us", call=_CALL))),
        Fires("few-graphs-lost", _example(kernel_us=1, count=200) + _LOST, events=200),
        Fires("graphs-recorded", _example(kernel_us=1) + _RECORDED * 20, events=20),
        Abstains("graphs-lost", _example(kernel_us=1) + _LOST * 2),
        Abstains("cpu-run", steps("aten::relu", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return obstacles.idle_unknown(trace)

    def find(self, trace: Trace) -> Iterable[Match]:
        calls = launches.calls_of(trace, *graphs.KERNEL_LAUNCHES)
        calls = calls[trace.step_time.contains(trace.start_ns[calls])]
        a_step = len(calls) / max(len(trace.window.steps), 1)
        if a_step < self.fewest_kernels:
            return
        idle = host_idle(trace).launching
        share = trace.step_share(idle) or 0.0
        work = trace.device_rows[np.isin(trace.caller[trace.device_rows], calls)]
        if share < self.least_idle or not len(work):
            return
        kernel_ns, call_ns = (float(np.median(trace.duration_ns[r])) for r in (work, calls))
        if trace.device_is_modelled and kernel_ns >= call_ns:
            return  # the operators' time is tidy.runtime's, only that of the calls is a GPU's
        captured = captured_steps(trace)
        idle = idle if captured is None else captured.idle
        share = trace.step_share(idle) or 0.0
        unit = "" if trace.window.unit == "run" else f" a {trace.window.unit}"
        beside = " beside graphs" if len(graphs.launched_in_steps(trace)) else ""
        per_launch = time_text(idle.total_ns / len(calls))
        yield Match(
            Events(trace, calls),
            message=f"the GPU idles for {share:.0%} of {trace.window.whole},"
            f" while {a_step:,.0f} kernels{unit} are launched one by one{beside}:"
            f" {per_launch} for each, which runs {time_text(kernel_ns)}"
            + ("" if captured is None else ", the same in each")
            + (", to decode one token after the other" if decoding.is_eager(trace) else ""),
            location=None,
            cost=timing.Cost(idle, matters=False, on_device=True),
            at_most=Severity.INFO if trace.device_is_modelled else Severity.WARNING,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        trace = events[0].trace
        if decoding.is_eager(trace):
            return "a static KV cache under CUDA graphs, or more sequences at once"
        if len(graphs.launched_in_steps(trace)):
            return graphs.MORE_IN_GRAPHS
        if len(trace.rows_named(*_COMPILED)):
            return 'torch.compile(mode="reduce-overhead"), which uses CUDA graphs'
        return self.fix if captured_steps(trace) is None else _CAPTURE

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit | None:
        """Graphs launch many kernels at once; a fused op or a larger batch saves less."""
        calls = rows_of(events)
        captured = captured_steps(trace)
        if captured is not None:
            tracks = np.flatnonzero(np.bincount(trace.track_id[calls])).tolist()
            whole, model = (
                Edit(
                    "each step in one graph",
                    host=dict.fromkeys(tracks, time),
                    work=captured.work,
                    left=(0.0, 0.2),
                    work_left=(1.0, 1.0),
                )
                for time in (captured.host, captured.model)
            )
            if captured.model.total_ns == captured.host.total_ns:
                return whole
            return replace(whole, at_worst=model, untold=_WHOLE_OR_MODEL)
        ops = launches.outermost_ops(trace, trace.caller[calls].astype(np.int64))
        host = edits.host_time(trace, np.concatenate([ops, calls]))  # some calls are in no op
        return Edit("kernels launched by graphs", host=host, left=(0.1, 0.6))
