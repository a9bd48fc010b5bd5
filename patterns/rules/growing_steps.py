"""TDY412: operators that take more in each step than in the one before."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Severity
from tidy.trace import Capability, Location, Rows, Trace
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.device.updates import STEP
from ..evidence.python import loops
from ..evidence.python.op_names import PRODUCTS
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import Option

_TRAINED = "Optimizer.step#SGD.step 9us\n"


_CAT = "aten::cat | TensorList[{0}], =0"


def _growing(*sizes: int, op: str = _CAT) -> str:
    """A step for each size, with an operator that takes a list of so many tensors of 64."""
    lists = ("; ".join(["64"] * size) for size in sizes)
    each = (
        under(FRAME, f"{op.format(*one)}\n{_TRAINED}") for one in zip(lists, sizes, strict=True)
    )
    return "".join(under(f"ProfilerStep#{number} 90us", step) for number, step in enumerate(each))


class GrowingSteps(Pattern):
    """An operator takes more in each step of a training, by the same amount every time.

    What it does: It compares what operators take, by their shapes, from step to step: those that
    take more elements in each of five steps or more, by the same number each time, where an
    optimizer steps in each. Where products of the model take more, it is the batch that grows, and
    nothing is said.
    Why it costs: Steps get longer the longer the run goes on, and what is kept takes memory: ten
    times as many steps take a hundred times as long for it. A recording of the first steps shows
    little of that.
    Example: `outputs.append(out)` and `torch.cat(outputs).mean(0)` in each step, recorded as

        aten::cat | 4 tensors
        aten::cat | 5 tensors      in the next step, and so on

    Instead: Keep a running sum or the last values, `total += out.detach().sum(0)`, or put things
    together every so many steps.
    Cannot see: It needs input shapes. It misses what grows by another amount each time, and lists
    of more than 30 tensors, of which PyTorch records no shapes.
    """

    code = "TDY412"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.STEPS})
    why_no_edit = "it grows with the run, of which the recording shows a few steps"
    fix = "keep a running value, or the last few values, instead of all of them"
    fewest_elements = Option(64, "fewer are numbers that are logged", least=1)
    fewest_steps = Option(5, "in fewer steps sizes may happen to grow evenly", least=3)
    examples = (
        Fires("a-list", _growing(4, 5, 6, 7, 8), events=5, at=AT),
        Quiet(
            "a-batch-that-grows", _growing(4, 5, 6, 7, 8, op=_CAT + "\naten::mm | float[{1}, 64]")
        ),
        Quiet("numbers-of-a-log", _growing(4, 5, 6, 7, 8).replace("64", "1")),
        Quiet("unevenly", _growing(4, 5, 7, 8, 9)),
        Quiet("the-same", _growing(4, 4, 4, 4, 4)),
        Quiet("lengths-of-sentences", _growing(4, 9, 2, 7, 8)),
        Quiet("four-steps", _growing(4, 5, 6, 7)),
        Quiet("decoding", _growing(4, 5, 6, 7, 8).replace(_TRAINED.strip(), "aten::mm")),
        Abstains("no-shapes", steps("aten::cat", count=6)),
        Abstains("no-steps", "aten::cat | TensorList[8; 8], =0"),
    )

    def find(self, trace: Trace) -> Matches:
        if len(trace.steps) < self.fewest_steps or not _trains(trace):
            return
        found = [
            each for each in _grown(trace, self.fewest_steps) if each.more >= self.fewest_elements
        ]
        # A batch that grows, as of a curriculum, goes through products. What follows grows with it.
        if not found or any(each.name in PRODUCTS for each in found):
            return
        first = min(found, key=lambda each: int(each.rows[0]))
        rows = np.concatenate([each.rows for each in found if each.location == first.location])
        name = first.name.removeprefix("aten::")
        yield Match(
            list(trace.events(first.rows.tolist())),
            f"{name} takes {first.more:,} elements more in each step than in the one before",
            trace.time_of(rows),
        )


def _trains(trace: Trace) -> bool:
    """Tell whether an optimizer steps in each step."""
    starts = trace.start_ns[launches.tree_rows(trace, STEP)]
    return loops.count_steps(trace, starts) == len(trace.steps)


class _Growing(NamedTuple):
    """An operator, one row for each step, and how many elements more it takes each time."""

    rows: Rows
    more: int
    location: Location | None
    name: str


def _grown(trace: Trace, fewest: int) -> Iterator[_Growing]:
    """What grows evenly over so many steps, which call the operator equally often."""
    for track in np.flatnonzero(np.bincount(trace.track_id[: trace.tree_count])).tolist():
        ops = launches.ops_in_no_op(trace, track)
        step = loops.step_of(trace, trace.start_ns[ops])
        ops, step = ops[step >= 0], step[step >= 0]
        inputs = trace.inputs_id[ops]
        dims = np.append(trace.inputs.shape_texts, -1)[inputs]  # -1: no inputs
        order = np.lexsort((trace.start_ns[ops], step, trace.name_id[ops]))
        names = trace.name_id[ops][order]
        for some in np.split(order, np.flatnonzero(np.diff(names)) + 1) if len(order) else ():
            counts = np.bincount(step[some], minlength=len(trace.steps))
            # Where optimizers end steps, what follows one is missing in the first or the last.
            there = np.flatnonzero(counts)
            if there[-1] - there[0] >= len(there) or len(there) < max(fewest, len(counts) - 2):
                continue
            if (counts[there] != counts[there[0]]).any():
                continue
            table = some.reshape(len(there), -1)
            # What has the same dims in two steps does not grow, which is so of nearly all.
            table = table[:, (np.diff(dims[table], axis=0) != 0).all(axis=0)]
            more = np.diff(_elements(trace, inputs[table]), axis=0)
            even = (more[0] > 0) & (more == more[0]).all(axis=0)
            for at in np.flatnonzero(even).tolist():
                rows = ops[table[:, at]]
                first = trace.event(int(rows[0]))
                yield _Growing(rows, int(more[0, at]), first.location, first.name)


def _elements(trace: Trace, inputs: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many elements all tensors among each of some inputs have."""
    distinct, which = np.unique(inputs, return_inverse=True)
    sizes = np.zeros(len(distinct), np.int64)
    for at, number in enumerate(distinct.tolist()):
        for dims in trace.inputs.shapes(number) or ():
            tensors = (dims,) if is_dims(dims) else dims
            sizes[at] += sum(prod(each) for each in tensors if is_dims(each) and each)
    return sizes[which].reshape(inputs.shape)
