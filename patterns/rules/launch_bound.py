"""TDY402: a device that idles while the next kernels are launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import (
    Event,
    EventKind,
    Events,
    Intervals,
    Trace,
    rows_of,
    time_text,
)
from tidy.trace.inputs import is_dims

from ..base import DevicePattern, Match, Matches
from ..evidence.device import graphs, launches, obstacles
from ..evidence.fixes import edits
from ..evidence.time import waits
from ..evidence.time.captured_steps import captured_steps, have_same_sizes, launches_by_step
from ..evidence.time.host_idle import (
    host_idle,
    is_mostly_before,
    main_line,
    mostly_before,
)
from ..evidence.time.recurrent_layers import (
    GRAPHS_OF_LAYERS,
    NOT_COMPILED,
    is_by_recurrent_layers,
)
from ..evidence.time.timing import Cost
from ..examples import (
    AT,
    FRAME,
    Abstains,
    Fires,
    Quiet,
    joined,
    launch,
    looped,
    on_gpu,
    steps,
    under,
)
from ..option import Option, share

_ATTENTION = ("aten::scaled_dot_product_attention", "aten::_softmax")
# So much of the attention looks at what came before from one token alone. A few such layers are
# those that gather a picture or a sentence into one vector.
_MOST = 0.9
_FEWEST_TOKENS = 3

_REDUCED = 'torch.compile(mode="reduce-overhead")'
_CAPTURE = f"capture the step in a CUDA graph, or {_REDUCED}"
_CAPTURE_LAYERS = f"capture the step in a CUDA graph: {NOT_COMPILED}"

# Beside the optimizer the loss stays, with its backward, nodes of autograd and two launches: a step
# of 2.32 ms took 1.33 so (docs/savings.md), others of 10 to 12 ms took 2.5 to 2.7.
_MODEL_LEFT = 0.45
_WHOLE_OR_MODEL = "the whole step captured, or the model's forward and backward alone"

_STEP, _CALL = "ProfilerStep#1 60us", "cudaLaunchKernel 5us"
_LOST = launch("graph", call="cudaGraphLaunch 5us")
_RECORDED = launch("graph", "a 1us", "b 1us", call="cudaGraphLaunch 5us")

_CAPTURED = joined(
    "cudaStreamBeginCapture", f"aten::relu 9us\n  {_CALL}\n" * 9, "cudaStreamEndCapture"
)


def _example(kernel_us: int, count: int = 20, op_us: int = 9, beside: str = "") -> str:
    """Ops one after the other, 1 us apart, and what else a step launches."""
    op = launch(f"aten::relu {op_us}us", f"relu_kernel {kernel_us}us", call=_CALL)
    return on_gpu(steps(op * count, beside, count=1, lasts_us=None), frame=FRAME)


def _compiled(kernel_us: int, python_us: int) -> str:
    """Calls of a compiled function, with Python between them."""
    kernel = launch("triton_poi_0 9us", f"triton_poi_0 {kernel_us}us", call="cuLaunchKernel 5us")
    call = joined(under("Torch-Compiled Region: 0/0", kernel * 8), f"work {python_us}us")
    return looped(call * 4, lasts_us=None)


class LaunchBound(DevicePattern):
    """The GPU idles while operators launch its next kernels, one after the other.

    What it does: It takes from the account the time in which no device works and the host launches,
    or a launch is on its way, in steps of 10 kernels or more; that has to be 15 % of the window.
    What the host does after a wait, for as long as it waited, counts for the wait (TDY301, TDY302),
    the launches of an optimizer for TDY601, except in compiled code, and those of a loader for the
    loader. Where neither launching nor Python takes 15 % alone, these and the gaps before kernels
    have to take 25 % together. Operators that take longer than 0.2 ms for each launch do something
    else besides and do not count. Where three steps or more launch the same, on inputs of the same
    sizes, and wait for nothing meanwhile, one graph could launch each step: then all idle time that
    a graph would avoid counts. If two thirds of that time lie before one kernel or operator, which
    makes up a third of the launches at the most, it is named. Its location is the line that most of
    the launches come from, if most of that time lies before these.
    Why it costs: The step takes as long as the host takes to launch it; a faster GPU changes
    nothing.
    Example: Many small ops on small tensors, recorded as

        aten::relu
          cudaLaunchKernel 5us => a kernel of 1us         10 or more in a step

    Instead: Use larger batches, `torch.compile(mode="reduce-overhead")` or CUDA graphs, which
    launch many kernels at once, fused optimizers and fused ops. Where tokens are decoded one by
    one, a static key-value cache makes graphs possible. `nn.LSTM`, `nn.GRU` and `nn.RNN` stay as
    they are in compiled code: larger batches and graphs help them. Graphs of compiled code hold no
    reads of the GPU nor copies from the CPU, and inputs of each new size are captured anew: where a
    trace has these, it says so first. It says nothing where graphs are captured in the steps.
    Cannot see: Beside a modelled device operators take the time of tidy.runtime: there kernels have
    to be shorter than the call that launches them, as well, and it is info. It is not checked where
    kernels of CUDA graphs were not recorded, or the file was thinned out: what looks idle need not
    be. That tokens are decoded one by one, it sees by shapes.
    """

    code = "TDY402"
    severity = Severity.INFO
    needs = frozenset({})
    fix = f"larger batches, {_REDUCED}, or CUDA graphs"
    fewest_kernels = Option(10, "a step of fewer kernels than this is not bound by launches")
    least_idle = share(
        0.15, "where less of the window is idle because of launching, it has another cause first"
    )
    least_in_all = share(
        0.25, "the same of launching, Python and gaps together, where none alone takes much"
    )
    examples = (
        Fires("short-kernels", _example(kernel_us=1), events=20, at=AT),
        Fires("as-long-as-a-launch", _example(kernel_us=5), events=20, at=AT),
        Fires("compiled", _compiled(5, python_us=1), events=64, at=AT),
        Fires("a-bit-of-each-cause", _compiled(9, python_us=14), events=64, at=AT),
        Quiet("too-little-of-each-cause", _compiled(10, python_us=10)),
        Quiet("long-kernels", _example(kernel_us=10)),
        Quiet("long-ops", _example(kernel_us=1, op_us=900)),
        Quiet("few-kernels", on_gpu(launch(f"{_STEP} > aten::relu 20us", "relu 1us", call=_CALL))),
        Fires("few-graphs-lost", _example(kernel_us=1, count=200) + _LOST, events=200, at=AT),
        Fires("beside-some-graphs", _example(kernel_us=1, beside=_RECORDED * 9), events=20, at=AT),
        Quiet("captured", _example(kernel_us=1, beside=_CAPTURED)),
        Abstains("graphs-lost", _example(kernel_us=1) + _LOST * 2),
        Abstains("cpu-run", steps("aten::relu", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return obstacles.idle_unknown(trace)

    def find(self, trace: Trace) -> Matches:
        calls = graphs.launched_in_steps(trace, graphs.KERNEL_LAUNCHES)
        a_step = len(calls) / trace.window.step_count
        if a_step < self.fewest_kernels or host_idle(trace).captures:
            return
        idle = self._idle(trace)
        work = trace.device_rows[np.isin(trace.caller[trace.device_rows], calls)]
        if not len(idle) or not len(work):
            return
        kernel_ns, call_ns = (float(np.median(trace.duration_ns[r])) for r in (work, calls))
        if trace.device_is_modelled and kernel_ns >= call_ns:
            return  # the operators' time is tidy.runtime's, only that of the calls is a GPU's
        captured = captured_steps(trace)
        idle = idle if captured is None else captured.idle
        share = trace.step_share(idle) or 0.0
        unit = "" if trace.window.unit == "run" else f" a {trace.window.unit}"
        line = main_line(trace, idle, calls)
        by = " by compiled code" if _is_by_compiled_code(trace, idle) else ""
        by += " beside graphs" if len(graphs.launched_in_steps(trace)) else ""
        per_launch = time_text(idle.total_ns / len(calls))
        yield Match(
            Events(trace, calls),
            message=f"the GPU idles for {share:.0%} of {trace.window.whole},"
            f" while {a_step:,.0f} kernels{unit} are launched one by one{by}:"
            f" {per_launch} for each, which runs {time_text(kernel_ns)}"
            + ("" if captured is None else ", the same in each")
            + (", to decode one token after the other" if _decodes(trace) else "")
            + mostly_before(trace, idle)
            + ("" if line is None else "; most of them from this line"),
            location=line,
            cost=Cost(idle, matters=False, on_device=True),
            at_most=Severity.INFO if trace.device_is_modelled else Severity.WARNING,
        )

    def _idle(self, trace: Trace) -> Intervals:
        """The time that is idle because of launches, none where it is too short.

        What compiled code launches, and what is launched in a row, may have a bit of each cause.
        """
        host = host_idle(trace)
        python = reduce(or_, host.python.values(), Intervals())
        alone = max(trace.step_share(each) or 0.0 for each in (host.launching, python))
        idle, least = host.launching, self.least_idle
        if alone < self.least_idle and not trace.device_is_modelled:
            idle, least = idle | python | host.gaps, self.least_in_all
        return idle if (trace.step_share(idle) or 0.0) >= least else Intervals()

    def fix_of(self, events: Sequence[Event]) -> str:
        trace = events[0].trace
        if _decodes(trace):
            return "a static KV cache under CUDA graphs, or more sequences at once"
        if len(graphs.launched_in_steps(trace)):
            return graphs.MORE_IN_GRAPHS
        if is_by_recurrent_layers(trace, host_idle(trace).launching):
            return GRAPHS_OF_LAYERS if captured_steps(trace) is None else _CAPTURE_LAYERS
        if len(trace.rows_named(*launches.COMPILED)):
            return _graphs_of_compiled_code(trace)
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
                    left=(0.0, most_left),
                    work_left=(1.0, 1.0),
                )
                for time, most_left in ((captured.host, 0.2), (captured.model, _MODEL_LEFT))
            )
            if captured.model.total_ns == captured.host.total_ns:
                return whole
            return replace(whole, at_worst=model, untold=_WHOLE_OR_MODEL)
        ops = launches.outermost_ops(trace, trace.caller[calls].astype(np.int64))
        host = edits.host_time(trace, np.concatenate([ops, calls]))  # some calls are in no op
        return Edit("kernels launched by graphs", host=host, left=(0.1, 0.6))


def _is_by_compiled_code(trace: Trace, idle: Intervals) -> bool:
    regions = launches.below(trace, launches.tree_rows(trace, *launches.COMPILED))
    return is_mostly_before(trace, idle, regions)


def _graphs_of_compiled_code(trace: Trace) -> str:
    """Say how compiled code comes to use CUDA graphs, which keep nothing that waits or changes."""
    # A region holds what a graph breaks at, too.
    inside = launches.below(trace, launches.tree_rows(trace, *launches.COMPILED[1:]))
    copies = launches.calls_that_launched(trace, "Memcpy HtoD*", "Memcpy DtoH*")
    others = np.union1d(waits.waiting_calls(trace), copies)
    if inside.contains(trace.caller[others]).any():
        return f"take reads and copies from the CPU out of it, then {_REDUCED}"
    calls = launches.calls_of(trace, *graphs.KERNEL_LAUNCHES)
    by_step = launches_by_step(trace, calls[inside.contains(trace.caller[calls])])
    if by_step is not None and not have_same_sizes(trace, by_step):
        return f"inputs of few sizes, then {_REDUCED}, which captures each"
    return f"{_REDUCED}, which uses CUDA graphs"


def _decodes(trace: Trace) -> bool:
    """Tell whether operators decode token after token, each from a longer past than before."""
    rows = trace.rows_named(*_ATTENTION)
    rows = rows[trace.kind[rows] == EventKind.TorchOp]
    rows = rows[trace.in_window(rows)]
    inputs, counts = np.unique(trace.inputs_id[rows], return_counts=True)
    lengths, from_one, in_all = set[int](), 0, 0
    for number, count in zip(inputs.tolist(), counts.tolist(), strict=True):
        query, key = [*trace.inputs.shapes(number), (), ()][:2]
        if is_dims(query) and len(query) == 4:
            in_all += count
            keys = key[2] if is_dims(key) and len(key) == 4 else query[3]
            if query[2] == 1 < keys:
                from_one += count
                lengths.add(keys)
    grown = np.diff(sorted(lengths))
    grows = len(lengths) >= _FEWEST_TOKENS and bool((grown == 1).all())
    return grows and from_one >= _MOST * in_all
