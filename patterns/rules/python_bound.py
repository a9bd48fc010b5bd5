"""TDY401: Python that keeps the devices, or the step of a CPU run, waiting."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import takewhile
from operator import or_

import numpy as np

from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Events, Intervals, Location, Trace, time_text

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, graphs, memory, obstacles
from ..evidence.python import places
from ..evidence.time import host_idle
from ..evidence.time.host_functions import is_of_user, preparing, short_name, waits_for_others
from ..evidence.time.host_idle import Stretch
from ..evidence.time.rare_work import in_most_steps
from ..evidence.time.recurrent_layers import GRAPHS_OF_LAYERS, is_by_recurrent_layers
from ..evidence.time.timing import Cost
from ..examples import FRAME, GPU, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..option import LARGE_INFO, Option, share, word_share

_GRAPHS = 'torch.compile(mode="reduce-overhead"), CUDA graphs, or larger batches'

_OP = launch("aten::mm 9us", "gemm 5us", call="cudaLaunchKernel 5us")
_COMPREHENSION = re.compile(r": <(list|set|dict)comp>$|: <genexpr>$")
_NEARLY_ALL = 0.9  # of a stretch; what is left is as often an event that came late
_WAIT = "<built-in method acquire of _thread.lock object at 0x1> 900us"
_LONG = "train.py(3): count 900us"
_NODE = under("autograd::engine::evaluate_function: MmBackward0", _OP)
_ONE = joined(_OP, under(f"{FRAME} 950us", _LONG), _OP)
_CAPTURE = joined("cudaStreamBeginCapture", _LONG, "cudaStreamEndCapture")
_NEXT = under("ProfilerStep#2", _OP * 60)
_SCRIPT = """
    aten::mm @train.py(9): <module>
    train.py(1): <module> 900us
    aten::mm 100us @train.py(12): <module>
    """

_NEXT_OP = "aten::relu @train.py(9): train"
_FREES = "work 900us\n[memory] -{}B"
_NEXT_LINE = "aten::mm @train.py(9): train", "work 900us", "aten::relu @train.py(12): train"
_IN_PARTS = under(
    "train.py(7): sample 1910us",
    "train.py(8): <listcomp> 900us",
    "aten::add @train.py(12): sample",
    "[memory] 900us 8B",
    "aten::relu @train.py(12): sample",
)


def _run(*parts: str, gpu: str = GPU) -> str:
    """Three steps that last as long as their parts."""
    return gpu + steps(*parts, lasts_us=None)


class PythonBound(Pattern):
    """The next kernel waits for Python that runs between two operators.

    What it does: It takes from the account the time in which no device works and Python runs, in no
    operator: where that takes 0.5 ms or longer at a time, 5 % of the window in all, in every second
    step, it names the function; and what it takes to get from one operator to the next, in all,
    from 15 % of the window on, and the kernel that most of this lies before. In a run without a GPU
    it is the first alone. Inputs that are prepared in the step are TDY407.
    Why it costs: The GPU has no work until Python comes to the next operator.
    Example: A loop in Python between two operators, recorded as

        aten::mm
        train.py(3): count            900 us, with no operator in it
        aten::mm

    Instead: Move the work to a worker of the loader, to a thread, or out of the loop; do it less
    often; write it with numpy or as operators on the device. Against many short gaps between
    operators `torch.compile`, CUDA graphs and larger batches help; recurrent layers, such as
    `nn.LSTM`, are left as they are by `torch.compile`.
    Cannot see: Without Python stacks it names no function. Recording stacks slows calls of Python:
    then the way from operator to operator is info, and no saving is estimated, but where `tidy run`
    gave the steps the times of lightly recorded ones. Beside a modelled device, where that way is
    tidy.runtime's, it is not looked at. Long Python at one place is info where other work of the
    machine kept threads waiting for so long that little of it may be Python's. A time in which
    tensors of 32 MiB or more on the CPU are freed is not named: the system may take all of it to
    get their memory back. What a file that was thinned out leaves between operators is not checked.
    """

    code = "TDY401"
    why_no_edit = "Python stacks slow the host: record without them"
    fix = "move this Python to a worker or thread, run it less often, or use operators"
    at_one_place = word_share(LARGE_INFO, "Python at one place")
    from_op_to_op = share(
        0.15, "what Python takes in all to get from one operator to the next is worth a word"
    )
    fewest_kernels = Option(
        10, "in steps of fewer kernels than this, operators are not what the host does"
    )
    most_of_another = share(
        0.5,
        "a stretch is another's where so much of it lies between two nodes of a backward, or in"
        " what TDY413 names",
    )
    examples = (
        Fires("between-ops", _run(_ONE), events=3, at="train.py:3"),
        Fires("without-stacks", _run(_OP, "work 900us", _OP), events=3),
        Fires("from-op-to-op", _run(joined(_OP, "work 20us") * 20), 60, severity=Severity.INFO),
        Fires("on-the-cpu", _run("aten::mm", _LONG, "aten::mm 100us", gpu=""), 3, "train.py:3"),
        Fires("in-the-script-itself", _run(_SCRIPT, gpu=""), events=3, at="train.py:12"),
        Fires("in-a-comprehension-and-around-it", _run(_IN_PARTS, gpu=""), 6, "train.py:8"),
        Fires("in-no-function", _run(*_NEXT_LINE, gpu=""), 3, "train.py:12"),
        Quiet("in-the-capture-of-a-graph", _run(_OP, _CAPTURE)),
        Quiet("in-one-step", on_gpu(under("ProfilerStep#1", _ONE), _NEXT)),
        Quiet("frees-a-large-tensor", _run("aten::mm", _FREES.format(128 << 20), _NEXT_OP, gpu="")),
        Fires(
            "frees-a-small-tensor",
            _run("aten::mm", _FREES.format(16 << 20), _NEXT_OP, gpu=""),
            events=3,
            at="train.py:9",
        ),
        Quiet("in-the-engine", _run(_NODE, "[memory] 900us 8B", _NODE)),
        Fires("a-hook", _run(_NODE, _LONG, _NODE), events=3, at="train.py:3"),
        Quiet("hidden", _run(_OP.replace("gemm 5us", "gemm 2000us"), _LONG)),
        Quiet("waits-for-a-thread", steps("aten::mm", _WAIT)),
        Quiet("prepares-inputs", _run(_OP, "train.py(3): tokenize 900us", _OP)),
        Abstains("graphs-lost", _run(_ONE) + launch("graph", call="cudaGraphLaunch 5us")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if trace.is_cpu_run:
            return None
        return obstacles.without_device(trace) or obstacles.idle_unknown(trace)

    def find(self, trace: Trace) -> Matches:
        idle = host_idle.host_idle(trace)
        # What others are named for.
        named = [autograd.engine_time(trace), *(each.time for each in in_most_steps(trace))]
        anothers = reduce(or_, named)
        parts = _parts_of(anothers, idle.stretches)
        python = [
            each
            for each, part, frees in zip(
                idle.stretches, parts, _are_for_memory(trace, idle.stretches), strict=True
            )
            if part < self.most_of_another and _is_python(each) and not frees
        ]
        window_ns = max(trace.step_time.total_ns, 1)
        for same in places.grouped(python, lambda each: _place(trace, each)):
            in_all_ns = sum(each.end_ns - each.start_ns for each in same)
            if in_all_ns / window_ns < self.at_one_place:
                continue
            usual = host_idle.usual_time(trace, same)
            if (trace.step_share(usual) or 0.0) >= self.at_one_place:
                yield self._at_one_place(trace, same)
        if not (trace.is_cpu_run or trace.device_is_modelled or idle.captures):
            yield from self._from_op_to_op(trace)

    def _at_one_place(self, trace: Trace, same: Sequence[Stretch]) -> Match:
        time, waited = host_idle.time_of(same), _share_without_a_processor(trace)
        function, after = _function(same[0]), host_idle.op_after(trace, same[0])
        a_step = time_text(time.total_ns / trace.window.step_count)
        who = "the step" if trace.is_cpu_run else "the GPU"
        where = f" in {short_name(function)}" if function else _range(same[0])
        where += _before(after) or host_idle.mostly_before(trace, time)
        matters = (trace.step_share(time) or 0.0) * (1 - waited) >= self.at_one_place
        if not matters:
            where += f"; meanwhile threads waited for a processor {waited:.0%} of the time"
        events = (_function(each) or host_idle.op_after(trace, each) for each in same)
        return Match(
            list(dict.fromkeys(each for each in events if each is not None)),
            message=f"{who} waits {a_step} a {trace.window.unit} for Python{where}",
            location=_line(function, after),
            cost=time,
            edit=Edit("done elsewhere", host=host_idle.by_track(same), left=(0.0, 0.9)),
            severity=Severity.WARNING if matters else Severity.INFO,
        )

    def _from_op_to_op(self, trace: Trace) -> Matches:
        """Tell what Python takes in all to get from one operator to the next."""
        time = _from_op_to_op(trace)
        share = trace.step_share(time) or 0.0
        calls = graphs.launched_in_steps(trace, graphs.KERNEL_LAUNCHES)
        fewest = self.fewest_kernels * trace.window.step_count
        if share < self.from_op_to_op or len(calls) < fewest:
            return
        # `tidy run` gives the times that it takes without stacks.
        has_stacks = Capability.STACKS in trace.capabilities
        is_slowed = has_stacks and "tidy_times" not in trace.info.header
        yield Match(
            Events(trace, calls),
            message=f"the GPU idles for {share:.0%} of {trace.window.whole}"
            " while Python gets from one operator to the next,"
            f" {time_text(time.total_ns / len(calls))} for each kernel"
            + (", with Python stacks recorded" if is_slowed else "")
            + host_idle.mostly_before(trace, time),
            location=None,
            cost=Cost(time, on_device=True),
            severity=Severity.INFO,
            at_most=Severity.WARNING,
            edit=None
            if is_slowed
            else Edit("graphs", host=host_idle.host_idle(trace).python, left=(0.1, 0.6)),
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        if events[0].kind != EventKind.Runtime:
            return self.fix
        trace = events[0].trace
        if len(graphs.launched_in_steps(trace)):
            return graphs.MORE_IN_GRAPHS
        return GRAPHS_OF_LAYERS if is_by_recurrent_layers(trace, _from_op_to_op(trace)) else _GRAPHS


def _share_without_a_processor(trace: Trace) -> float:
    """Return for which share of the time threads of the script waited for a processor, 1 at most.

    0 if that is not known, and where steps have times in which none waits.
    """
    header = trace.info.header
    are_without = "tidy_times" in header and header.get("tidy_times_hold_waits") is not True
    none_waits = trace.device_is_modelled or are_without
    said = None if none_waits else header.get("tidy_queued_share")
    return float(min(max(said, 0), 1)) if isinstance(said, (int, float)) else 0.0


def _from_op_to_op(trace: Trace) -> Intervals:
    return reduce(or_, host_idle.host_idle(trace).python.values(), Intervals())


def _is_python(stretch: Stretch) -> bool:
    """Tell whether Python takes a stretch, and not for inputs, nor to wait for another thread."""
    of_libraries = takewhile(lambda each: not is_of_user(each), stretch.functions)
    waits = any(waits_for_others(each.name) for each in of_libraries)
    return stretch.op is None and not waits and preparing(stretch.functions) is None


def _are_for_memory(trace: Trace, stretches: Sequence[Stretch]) -> list[bool]:
    """Tell of each stretch whether large tensors that are freed in it may take nearly all of it."""
    edges = np.array([(each.start_ns, each.end_ns) for each in stretches], np.int64).reshape(-1, 2)
    starts_ns, ends_ns = edges.T
    found: list[bool] = (
        memory.unmapping_ns(trace, starts_ns, ends_ns) >= _NEARLY_ALL * (ends_ns - starts_ns)
    ).tolist()
    return found


def _parts_of(time: Intervals, stretches: Sequence[Stretch]) -> list[float]:
    """The part of each stretch that lies in this time."""
    edges = np.array([(each.start_ns, each.end_ns) for each in stretches], np.int64).reshape(-1, 2)
    own_ns = time.covered_ns(edges[:, 0], edges[:, 1])
    parts: list[float] = (own_ns / np.maximum(edges[:, 1] - edges[:, 0], 1)).tolist()
    return parts


def _function(stretch: Stretch) -> Event | None:
    return stretch.functions[0] if stretch.functions else None


def _line(function: Event | None, after: Event | None) -> Location | None:
    """Tell where to look: at what is next, of a script itself, whose first line tells nothing, and
    where no function is known.
    """
    place = function.location if function is not None else None
    line = after.location if after is not None else None
    if line is None or not line.is_call_line or (place is not None and place.is_call_line):
        return place
    if place is None:
        return line
    is_script = place.function == line.function == "<module>" and line.file == place.file
    return line if is_script else place


def _place(trace: Trace, stretch: Stretch) -> Hashable:
    """Return what groups stretches: the function or marked range, and the line or op that follows.

    A comprehension counts as the function around it.
    """
    around = (each for each in stretch.functions if not _COMPREHENSION.search(each.name))
    function, after = next(around, None), host_idle.op_after(trace, stretch)
    where = _range(stretch) if function is None else (function.location, function.name)
    line = after.location if after is not None else None
    if line is not None and line.is_call_line:
        return where, line.file, line.line
    return where, None if after is None else (line, after.name)


def _range(stretch: Stretch) -> str:
    """Tell where a stretch is that is in no function: in a range that the user has marked."""
    if stretch.event is not None and stretch.event.kind == EventKind.Annotation:
        return "" if places.is_step(stretch.event) else f" in {stretch.event.name}"
    return ""


def _before(op: Event | None) -> str:
    """The line that comes after it, where that is known."""
    line = op.location if op is not None else None
    return f", before {line.file}:{line.line}" if line is not None and line.is_call_line else ""
