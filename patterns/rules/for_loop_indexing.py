"""TDY404: a Python loop that visits a tensor element by element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, Severity
from tidy.trace import Event, EventKind, Location, Trace
from tidy.trace.names import matching

from ..base import Pattern
from ..examples import Fires, Quiet
from ..repeats import repeated_runs

# TorchTidy's threshold. Below ten rounds a loop over a small dimension is as readable as cheap.
_FEWEST_ROUNDS = 10
# A round of more ops than this is a training step, or at least no element-wise body.
_LONGEST_ROUND = 32
_DATA = "torch/utils/data/"
# Rounds with these are training steps, not a walk over a tensor.
_STEPS = (
    "autograd::engine::evaluate_function: *", "aten::_foreach_*", "nccl:*", "gloo:*", "c10d::*",
)  # fmt: skip
# Rounds with these can be written as one only if none needs the result of the one before.
_PRODUCTS = (
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul", "aten::linear",
    "aten::einsum", "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution",
    "aten::scaled_dot_product_attention", "aten::embedding", "aten::lstm", "aten::gru",
    "aten::rnn_tanh", "aten::rnn_relu", "aten::lstm_cell", "aten::gru_cell",
    "aten::rnn_tanh_cell", "aten::rnn_relu_cell", "aten::_thnn_fused_lstm_cell",
    "aten::_thnn_fused_gru_cell",
)  # fmt: skip


class ForLoopIndexing(Pattern):
    """A loop indexes a tensor with its counter, one small op after the other.

        aten::select  aten::fill_  aten::select  aten::fill_  ...      ten rounds or more

    Ops are compared in the order in which a thread ran them, whatever Python functions they came
    from, so a body in a helper function and nested loops count too. Where inputs were recorded the
    index has to change from round to round.

    Rounds with a matrix product or a convolution are said as info: they can be batched, unless
    each needs the one before, as in a recurrent network; the trace cannot tell. Quiet on training
    steps and on the indexing of data sets inside a DataLoader.

    Cost: some microseconds an op, thousands of times; on a GPU as many launches.
    Instead: one op on the whole tensor: `t[:] = torch.arange(n)`, `t = u + 1`, `torch.where`, ...
    Misses: loops of fewer than ten rounds; bodies of more than 32 ops; loops over `aten::unbind`.
    """

    code = "TDY404"
    fix = "write it as one op on the whole tensor (slices, arange, where, scatter)"
    examples = (
        Fires(
            "fill", "train.py(3): fill\n" + "  aten::select\n  aten::fill_\n" * 12, at="train.py:3"
        ),
        Fires(
            "helper",
            "train.py(3): fill\n" + "  train.py(1): put\n    aten::select\n    aten::fill_\n" * 12,
            at="train.py:3",
        ),
        Fires(
            "copy-plus-one",
            "train.py(3): shift\n"
            + "  aten::select\n  aten::add\n  aten::select\n  aten::copy_\n" * 10,
            at="train.py:3",
        ),
        Fires(
            "index-changes",
            "\n".join(f"aten::select | float[12, 4], =0, ={i}\naten::fill_" for i in range(12)),
        ),
        Quiet("nine-rounds", "train.py(3): fill\n" + "  aten::select\n  aten::fill_\n" * 9),
        Quiet("same-index", "aten::select | float[12, 4], =0, =0\naten::fill_\n" * 12),
        Fires(
            "product-in-each-round",
            "aten::select\naten::mm\naten::add\naten::tanh\n" * 12,
            severity=Severity.INFO,
        ),
        Quiet(
            "steps-whose-backward-is-on-another-thread",
            "aten::select\naten::mm\nOptimizer.step#SGD.step\n  aten::add_\n" * 12,
        ),
        Quiet(
            "training-steps",
            "aten::select\naten::mm\nautograd::engine::evaluate_function: MmBackward0\n" * 12,
        ),
        Quiet(
            "data-set",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
            + "  aten::select\n" * 12,
        ),
    )

    def check(self, trace: Trace) -> Iterable[Finding]:
        places: dict[tuple[Location | None, bool], list[_Loop]] = {}
        for loop in _loops(trace):
            location = _place(trace, loop)
            places.setdefault((location, loop.has_products), []).append(loop)
        for (location, has_products), loops in places.items():
            rounds = sum(loop.rounds for loop in loops)
            yield self.report(
                trace,
                list(trace.events(int(loop.rows[0]) for loop in loops)),
                message=f"{rounds} rounds {_SAID[has_products]}",
                severity=Severity.INFO if has_products else Severity.WARNING,
                cost_rows=np.concatenate([loop.rows for loop in loops]).tolist(),
                location=location,
            )


_SAID = {
    False: "index a tensor element by element",
    True: "index a tensor for a product each: batch them if none needs the one before",
}


@dataclass(frozen=True, slots=True)
class _Loop:
    rows: NDArray[np.int64]  # of all its ops, from the first select on
    rounds: int
    frame: int  # row of the innermost event around all rounds, -1 for none
    has_products: bool


def _place(trace: Trace, loop: _Loop) -> Location | None:
    """The line that indexes, where that was recorded; else the function around the loop."""
    line = trace.location(int(loop.rows[0]))
    if line is not None and line.is_call_line:
        return line
    return trace.location(loop.frame) if loop.frame >= 0 else None


def _loops(trace: Trace) -> Iterator[_Loop]:
    selects = trace.rows_named("aten::select")
    selects = selects[selects < trace.tree_count]
    if len(selects) < _FEWEST_ROUNDS:
        return
    is_step, is_product = _names_like(trace, _STEPS), _names_like(trace, _PRODUCTS)
    select_id = trace.strings.names["aten::select"]
    fetching = trace.time_of(trace.rows_named("enumerate(DataLoader)#*"))
    for track in np.unique(trace.track_id[selects]).tolist():
        rows = _outermost_ops(trace, track)
        # Ops of a DataLoader's own fetch are the data set's; they also part what is around them.
        names = np.where(fetching.contains(trace.start_ns[rows]), -1, trace.name_id[rows])
        for first, last, period in repeated_runs(names, _LONGEST_ROUND, _FEWEST_ROUNDS):
            one_round = names[first : first + period]
            if select_id not in one_round or -1 in one_round or is_step[one_round].any():
                continue
            skip = int(np.flatnonzero(one_round == select_id)[0])
            has_products = bool(is_product[one_round].any())
            loop = _walk(trace, rows[first + skip : last], period, select_id, has_products)
            if loop is not None:
                yield loop


def _names_like(trace: Trace, patterns: Sequence[str]) -> NDArray[np.bool_]:
    """For each name id whether its name is one of `patterns`."""
    found = set(matching(trace.names, patterns))
    return np.array([name in found for name in trace.names], bool)


def _outermost_ops(trace: Trace, track: int) -> NDArray[np.int64]:
    """Ops of one thread that are in no other op, by start."""
    ops = np.flatnonzero(
        (trace.kind[: trace.tree_count] == EventKind.TorchOp)
        & (trace.track_id[: trace.tree_count] == track)
    )
    ends = trace.subtree_end[ops]
    covered = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ops) else ends
    return ops[ops >= covered]


def _walk(
    trace: Trace, rows: NDArray[np.int64], period: int, select_id: int, has_products: bool
) -> _Loop | None:
    """The loop, if its rounds really walk over a tensor, and not inside PyTorch's data sets."""
    selects = rows[trace.name_id[rows] == select_id]
    slots = int((trace.name_id[rows[:period]] == select_id).sum())
    rounds = -(-len(selects) // slots)
    frame = _frame_around(trace, rows)
    if rounds < _FEWEST_ROUNDS or _is_below(trace, frame, _DATA):
        return None
    start_ns, end_ns = trace.start_ns[rows[0]], trace.end_ns[rows[-1]]
    steps = sum(bool(start_ns <= step.start_ns < end_ns) for step in trace.steps)
    if steps >= rounds - 1 or not _index_changes(trace, selects, slots):
        return None
    return _Loop(rows, rounds, frame, has_products)


def _index_changes(trace: Trace, selects: NDArray[np.int64], slots: int) -> bool:
    """Whether ten rounds differ in what they select; True where inputs were not recorded."""
    walked = set()
    for at in range(0, len(selects), slots):
        index = [Event(trace, int(row)).concrete_inputs[1:3] for row in selects[at : at + slots]]
        if not all(index):
            return True
        walked.add(tuple(index))
        if len(walked) >= _FEWEST_ROUNDS:
            return True
    return False


def _frame_around(trace: Trace, rows: NDArray[np.int64]) -> int:
    """The innermost event that holds all of `rows`, -1 for none."""
    frame = int(trace.parent[rows[0]])
    while frame >= 0 and int(trace.subtree_end[frame]) <= int(rows[-1]):
        frame = int(trace.parent[frame])
    return frame


def _is_below(trace: Trace, row: int, file: str) -> bool:
    """Whether `row` or an event above it is a frame of `file`."""
    while row >= 0:
        if file in trace.names[trace.name_id[row]]:
            return True
        row = int(trace.parent[row])
    return False
