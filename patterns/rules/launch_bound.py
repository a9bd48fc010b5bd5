"""TDY402: a device that idles while the next kernels are launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.account import host_in_window
from tidy.account import host_kinds as kinds
from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Event, EventKind, Events, Intervals, Rows, Trace, rows_of, time_text
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept_of_window

from ..base import DevicePattern, Match, Matches
from ..evidence.device import devices, graphs, launches, obstacles
from ..evidence.fixes import edits
from ..evidence.python.frames import DATA_LOADER, FETCH
from ..evidence.time import waits
from ..evidence.time.host_idle import host_idle
from ..evidence.time.timing import Cost
from ..examples import FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, steps
from ..option import Option, share

_ATTENTION = ("aten::scaled_dot_product_attention", "aten::_softmax")
# So much of the attention looks at what came before from one token alone. A few such layers are
# those that gather a picture or a sentence into one vector.
_MOST = 0.9
_FEWEST_TOKENS = 3

_FEWEST_STEPS = 3  # that two steps launch the same may be chance
# What the host does from one launch to the next that a graph does without.
_SPARED = [
    kinds.CODE_OF[kind]
    for kind in (
        *kinds.BETWEEN_OPS, kinds.LAUNCHING, kinds.OPTIMIZER, kinds.HOOK, kinds.ALLOCATOR,
        kinds.GAP, kinds.RECORDING, kinds.NOT_RECORDED,
    )
]  # fmt: skip
# Where the host does other things (it loads, waits, compiles, computes) for more than this part of
# the time that a graph would save, not all of it can be captured.
_MOST_ELSE = 0.05

_CAPTURE = 'capture the step in a CUDA graph, or torch.compile(mode="reduce-overhead")'

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
    one, a static key-value cache makes graphs possible. Where graphs are captured in
    the steps, there is nothing to say.
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
        0.15, "where less of the window is idle because of launching, it has another cause first"
    )
    examples = (
        Fires("short-kernels", _example(kernel_us=1), events=20),
        Fires("as-long-as-a-launch", _example(kernel_us=5), events=20),
        Quiet("long-kernels", _example(kernel_us=10)),
        Quiet("long-ops", _example(kernel_us=1, op_us=900)),
        Quiet("few-kernels", on_gpu(launch(f"{_STEP} > aten::relu 20us", "relu 1us", call=_CALL))),
        Fires("few-graphs-lost", _example(kernel_us=1, count=200) + _LOST, events=200),
        Fires("beside-some-graphs", _example(kernel_us=1, beside=_RECORDED * 9), events=20),
        Quiet("captured", _example(kernel_us=1, beside=_CAPTURED)),
        Abstains("graphs-lost", _example(kernel_us=1) + _LOST * 2),
        Abstains("cpu-run", steps("aten::relu", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return obstacles.idle_unknown(trace)

    def find(self, trace: Trace) -> Matches:
        calls = graphs.launched_in_steps(trace, graphs.KERNEL_LAUNCHES)
        a_step = len(calls) / trace.window.step_count
        if a_step < self.fewest_kernels or graphs.are_captured(trace):
            return
        idle = host_idle(trace).launching
        share = trace.step_share(idle) or 0.0
        work = trace.device_rows[np.isin(trace.caller[trace.device_rows], calls)]
        if share < self.least_idle or not len(work):
            return
        kernel_ns, call_ns = (float(np.median(trace.duration_ns[r])) for r in (work, calls))
        if trace.device_is_modelled and kernel_ns >= call_ns:
            return  # the operators' time is tidy.runtime's, only that of the calls is a GPU's
        captured = _captured_steps(trace)
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
            + (", to decode one token after the other" if _decodes(trace) else ""),
            location=None,
            cost=Cost(idle, matters=False, on_device=True),
            at_most=Severity.INFO if trace.device_is_modelled else Severity.WARNING,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        trace = events[0].trace
        if _decodes(trace):
            return "a static KV cache under CUDA graphs, or more sequences at once"
        if len(graphs.launched_in_steps(trace)):
            return graphs.MORE_IN_GRAPHS
        if len(trace.rows_named(*launches.COMPILED)):
            return 'torch.compile(mode="reduce-overhead"), which uses CUDA graphs'
        return self.fix if _captured_steps(trace) is None else _CAPTURE

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit | None:
        """Graphs launch many kernels at once; a fused op or a larger batch saves less."""
        calls = rows_of(events)
        captured = _captured_steps(trace)
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


class _Captured(NamedTuple):
    """The time that one graph a step does without.

    Attributes:
        host: from the end of each step's first launch to that of its last.
        idle: when no device works because of that, or because of what the host does between steps:
            with a graph it is ahead by then.
        model: the host's time without the optimizer's, where the model alone is captured.
        work: what they launch, which follows without a gap in a graph.
    """

    host: Intervals
    idle: Intervals
    model: Intervals
    work: Rows


@kept_of_window
def _captured_steps(trace: Trace) -> _Captured | None:
    """Tell what graphs save if all of a step is captured; None where it cannot be, as it is.

    A graph launches the same kernels each time, without the host. So all steps have launched the
    same kernels in the same order, on inputs of the same sizes as far as they are known. Nothing
    waited for the device between a step's first launch and its last, no batch was fetched and no
    graph launched, and the host did little but launch. Beside a modelled device the host's time is
    tidy.runtime's, and says nothing of graphs.
    """
    if trace.device_is_modelled:
        return None
    edges = np.array(trace.window.step_ranges, np.int64).reshape(-1, 2)
    calls = _launches_by_step(trace, edges)
    if calls is None or calls.shape[1] < 2:
        return None
    begin, end = trace.end_ns[calls[:, 0]], trace.end_ns[calls[:, -1]]
    host = Intervals(begin, end)
    fetches = trace.rows_named(FETCH, f"{DATA_LOADER}__next__", "enumerate(DataPipe)#*")
    others = np.concatenate(
        [waits.waiting_calls(trace), launches.calls_of(trace, *graphs.GRAPH_LAUNCHES), fetches]
    )
    if host.contains(trace.start_ns[others]).any():
        return None
    if any(host.overlaps(each.start_ns, each.end_ns) for each in host_idle(trace).stretches):
        return None
    device = max(trace.devices_used, key=lambda each: len(trace.rows_of_device(each)))
    pieces = host_in_window(trace, device)
    pieces = pieces.at(devices.all_idle(trace).contains(pieces.start_ns))
    spent_ns, spared = pieces.end_ns - pieces.start_ns, np.isin(pieces.kind, _SPARED)
    meanwhile = host.contains(pieces.start_ns)
    if spent_ns[meanwhile & ~spared].sum() > _MOST_ELSE * spent_ns[meanwhile].sum():
        return None
    optimizer = trace.time_of(trace.rows_named("Optimizer.step#*", "Optimizer.zero_grad#*"))
    idle = Intervals(pieces.start_ns[spared], pieces.end_ns[spared])
    return _Captured(host, idle, host - optimizer, _work_of(trace)[calls[:, 1:]].ravel())


def _launches_by_step(trace: Trace, edges: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The calls that launch kernels, a row for each step; None unless all launch the same."""
    calls = launches.by_start(trace, launches.calls_of(trace, *graphs.KERNEL_LAUNCHES))
    step = np.searchsorted(edges[:, 0], trace.start_ns[calls], side="right") - 1
    inside = (step >= 0) & (trace.start_ns[calls] < edges[step, 1]) if len(edges) else step >= 0
    calls, step = calls[inside], step[inside]
    counts = np.bincount(step, minlength=len(edges))
    if len(edges) < _FEWEST_STEPS or (counts != counts[0]).any() or not counts[0]:
        return None
    by_step: NDArray[np.int64] = calls.reshape(len(edges), -1)
    work = _work_of(trace)[by_step]
    if (work < 0).any():
        return None
    ops = trace.caller[by_step]
    sizes = np.where(ops >= 0, trace.inputs_id[ops], -1)  # those of a growing cache differ
    alike = all((each == each[0]).all() for each in (trace.name_id[work], sizes))
    return by_step if alike else None


def _work_of(trace: Trace) -> Rows:
    """For each row the device work that it launched, as a call, or -1."""
    work = np.full(len(trace), -1, np.int64)
    rows = trace.device_rows
    known = trace.caller[rows] >= 0
    work[trace.caller[rows[known]]] = rows[known]
    return work


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
