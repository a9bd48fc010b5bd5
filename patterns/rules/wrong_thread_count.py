"""TDY410: products on the CPU on fewer threads, or on more, than there are processors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidy.account.op_flops import COUNTED_OPS, op_flops
from tidy.finding import NotApplicable, NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Rows, Trace
from tidy.trace.loader_workers import find_loader_workers

from ..base import Match, Matches, Pattern
from ..evidence.device.launches import outermost_rows, tree_rows
from ..evidence.fixes import edits
from ..evidence.python.made_places import threads_set_at
from ..examples import Abstains, Fires, Quiet, steps, under
from ..option import Option, share

_UNKNOWN = NotChecked(
    "the trace does not say how many threads and processors there were", "record with tidy run"
)
_DEVICES_COMPUTE = NotApplicable("a device computes in this run")
# With twice the threads a product takes a little more than half of the time, or hardly less.
_MOST_LEFT = 0.9
# Of the processors that as many threads again need: what else runs now and then takes a part.
_IDLE_ENOUGH = 0.75

_LARGE = "aten::mm 900us | float[512, 512], float[512, 512]"
_INPUTS = "float[16, 64, 56, 56], float[64, 64, 3, 3], float[64], =[1, 1], =[1, 1], =[1, 1]"
_CONVOLUTION = under(
    f"aten::convolution | {_INPUTS}, =False, =[0, 0], =1",
    f"aten::_convolution 900us | {_INPUTS}, =False, =[0, 0], =1",
)
_SMALL = "aten::mm 900us | float[16, 16], float[16, 16]"
_RANKS = '# distributedInfo {"rank": 0, "world_size": 4}\n'


def _run(product: str, threads: int, processors: int = 8, load: float = 1.0, more: str = "") -> str:
    said = f'"intra_op": {threads}, "processors": {processors}, "load": {load}{more}'
    return f"# tidy_threads {{{said}}}\n" + steps(product)


class WrongThreadCount(Pattern):
    """Products on the CPU leave processors idle, or have more threads than there are processors.

    What it does: Of a run without a GPU it takes the matrix products and convolutions that are
    large enough to be shared among threads (50 million operations), where they take 30 % of the
    steps, and compares the threads that PyTorch or numpy may use with the processors that the
    process may use, by its affinity and its container's quota. Too few are half of those that are
    free, or fewer, where as many had nothing to do while the script was recorded, or else the
    machine's load leaves them free; too many are twice as many as there are, those of all processes
    of the job on this machine together. It names the line that calls `torch.set_num_threads`. Too
    few by a variable of the environment, such as OMP_NUM_THREADS=1, are info: somebody wants them.
    Why it costs: A processor that idles computes nothing; threads that share one wait for each
    other at the end of each product.
    Example: `torch.set_num_threads(1)` on a machine with eight free processors, recorded as

        aten::addmm  (512, 1024) and (1024, 1024)       one thread, eight processors

    or 32 threads, as many as the machine has processors, in a container that may use four.

    Instead: Leave the number to PyTorch, or set it to the processors that there are:
    `torch.set_num_threads(4)`, or OMP_NUM_THREADS=4 before Python starts, which numpy heeds too.
    Cannot see: It needs a recording of `tidy run`, with input shapes. Where others use the machine
    it does not say that there are too few threads, nor where the script starts workers or other
    ranks. Small products are left alone: they may be slower with more threads.
    """

    code = "TDY410"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    why_no_edit = "how long threads wait for each other is not in the trace"
    fix = "set as many threads as there are free processors: torch.set_num_threads()"
    fewest_flops = Option(50e6, "a product of fewer operations is as fast on few threads")
    worth_a_word = share(0.3, "products that take less of the steps than this are not the step")
    examples = (
        Fires("one-of-eight", _run(_LARGE, 1), events=3),
        Fires(
            "by-a-variable",
            _run(_LARGE, 1, more=', "variable": "OMP_NUM_THREADS=1"'),
            events=3,
            severity=Severity.INFO,
        ),
        Fires(
            "by-the-script",
            _run(_LARGE, 1, more=', "variable": "OMP_NUM_THREADS=4"'),
            events=3,
        ),
        Fires("four-times-as-many", _run(_LARGE, 32), events=3),
        Fires("of-all-processes", _run(_LARGE, 8, load=8.0, more=', "processes": 4'), events=3),
        Fires("below-linear", _run(f"aten::linear 950us\n  {_LARGE}", 1), events=3),
        Fires("a-convolution", _run(_CONVOLUTION, 1), events=3),
        Quiet("all", _run(_LARGE, 8)),
        Quiet("half-busy", _run(_LARGE, 4, load=6.0)),
        Quiet("others-use-them", _run(_LARGE, 1, load=8.0)),
        Fires("idle-after-a-load", _run(_LARGE, 1, load=8.0, more=', "idle": 6.5'), events=3),
        Quiet("none-idle", _run(_LARGE, 1, more=', "idle": 0.5')),
        Quiet("ranks", _RANKS + _run(_LARGE, 1)),
        Quiet("one-for-each-process", _run(_LARGE, 1, more=', "processes": 8')),
        Quiet("small", _run(_SMALL, 1)),
        Quiet("little", _run(f"aten::exp 9000us\n{_LARGE}", 1).replace(" 1000us", "")),
        Quiet("one-processor", _run(_LARGE, 1, processors=1)),
        Abstains("a-gpu", "# device 0 NVIDIA A100 8.0\n" + _run(_LARGE, 1)),
        Abstains("not-recorded", steps(_LARGE)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not trace.is_cpu_run:
            return _DEVICES_COMPUTE
        return None if _threads_of(trace) else _UNKNOWN

    def find(self, trace: Trace) -> Matches:
        threads = _threads_of(trace)
        if threads is None or not (threads.are_too_few or threads.are_too_many):
            return
        if threads.are_too_few and _starts_processes(trace, threads):
            return
        rows = self._large_products(trace)
        rows = rows[trace.in_window(rows)]
        time = trace.time_of(rows)
        if (trace.step_share(time) or 0.0) < self.worth_a_word:
            return
        edit = None
        if threads.are_too_few:
            part = max(threads.all / (threads.all + threads.free), 1 / 4)
            edit = Edit("more threads", host=edits.host_time(trace, rows), left=(part, _MOST_LEFT))
        set_at, variable = threads_set_at(trace), threads.variable
        why = f"; {variable} is set" if variable else ""
        text = threads.text + ("; the number of threads is set here" if set_at is not None else why)
        yield Match(
            Events(trace, rows),
            message=f"large products run on {text}",
            location=set_at,
            cost=time,
            edit=edit,
            severity=Severity.INFO if variable and set_at is None and edit is not None else None,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        threads = _threads_of(events[0].trace)
        variable = "" if threads is None else threads.variable.partition("=")[0]
        if not variable or threads_set_at(events[0].trace) is not None:
            return self.fix
        return f"if it is not meant, set {variable} to the processors that are free"

    def _large_products(self, trace: Trace) -> Rows:
        """The ops that are large, without those that are in another of them."""
        rows = np.sort(tree_rows(trace, *COUNTED_OPS))
        calls = np.stack([trace.name_id[rows], trace.inputs_id[rows]])
        kinds, kind = np.unique(calls, axis=1, return_inverse=True)
        is_large = [
            op_flops(trace.names[name], trace.inputs, inputs) >= self.fewest_flops
            for name, inputs in kinds.T.tolist()
        ]
        return outermost_rows(trace, rows[np.array(is_large, bool)[kind.ravel()]])


@dataclass(frozen=True, slots=True)
class _Threads:
    """The threads that compute, and the processors for them.

    Attributes:
        own, processes: threads of this process, and processes of the job on this machine.
        processors: that the process may use.
        free: processors that nothing ran on, on average; 0 if that is not known.
        variable: of the environment, that says how many; "" for none.
    """

    own: int
    processes: int
    processors: int
    free: float
    variable: str

    @property
    def all(self) -> int:
        return self.own * self.processes

    @property
    def are_too_few(self) -> bool:
        """Tell whether about as many processors as there are threads are known to be free."""
        return self.free >= _IDLE_ENOUGH * self.all

    @property
    def are_too_many(self) -> bool:
        return self.all >= 2 * self.processors

    @property
    def text(self) -> str:
        threads = "1 thread" if self.own == 1 else f"{self.own} threads"
        if self.processes > 1:
            threads += f" in each of {self.processes} processes"
        return f"{threads}, and there are {self.processors} processors"


def _threads_of(trace: Trace) -> _Threads | None:
    """Tell what the header says of threads; None where it does not."""
    said = trace.info.threads
    own, processors = _count(said.get("intra_op")), _count(said.get("processors"))
    if not own or not processors:
        return None
    processes = _count(said.get("processes")) or 1
    idle, load = _number(said.get("idle")), _number(said.get("load"))
    free = 0.0
    if idle is not None:
        free = min(idle, processors - own * processes)
    elif load is not None:
        free = processors - max(load, own * processes)
    variable = said.get("variable")
    is_of_it = isinstance(variable, str) and variable.partition("=")[2] == str(own)
    name = variable if isinstance(variable, str) and is_of_it else ""
    return _Threads(own, processes, processors, max(free, 0.0), name)


def _starts_processes(trace: Trace, threads: _Threads) -> bool:
    """Tell whether the script's own processes may need the processors that are free now and then:
    workers of loaders, and ranks of which it is not known how many are on this machine.
    """
    ranks = trace.info.world_size or 1
    return bool(find_loader_workers(trace).loaders) or ranks > threads.processes


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value >= 0 else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
