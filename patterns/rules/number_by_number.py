"""TDY414: numbers of a tensor that Python computes with, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Intervals, Rows, Trace, time_text
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device.launches import has_name, ops_in_no_op
from ..evidence.python import frames, loops
from ..evidence.time.rounds import count_text
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..option import Option, word_share

# What `tolist()` calls; `numpy()` and `tolist()` after `cpu()` call a cast before it.
_CONJ, _NEG, _CAST = "aten::resolve_conj", "aten::resolve_neg", "aten::to"
_MADE = "aten::lift_fresh"
_LEFT = (0.0, 0.5)

_LIST = "aten::resolve_conj | float[4096]\naten::resolve_neg | float[4096]\n"
_PYTHON = "train.py(9): <genexpr> 400us\n"
_NEXT = "aten::mm 90us\n"


class NumberByNumber(Pattern):
    """Python adds up, compares or collects the numbers of a tensor one by one.

    What it does: It finds `tolist()` of tensors in memory of the CPU, and the Python after it, up
    to the next operator or range, in two steps at one place. That has to take 3 % of the steps, and
    at most 0.5 us for each number: what takes longer does something else, such as to write a file.
    Lists that become tensors again are TDY409 and TDY107. It is info: what Python does with a
    number, such as to look up a word, may have no operator.
    Why it costs: Python makes an object of each number, and takes 20 to 100 ns for each addition,
    where an operator takes less than 1 ns.
    Example: `sum(v * v for v in p.grad.flatten().tolist())` for each parameter, recorded as

        aten::resolve_conj  aten::resolve_neg     tolist()
        ...                                       Python, and no operator

    Instead: Compute with operators, and read one result: `p.grad.square().sum()`,
    `torch.nn.utils.get_total_norm(gradients)`, `bincount`, `unique`, `x.sum(1).tolist()` for rows.
    Cannot see: It needs input shapes. It does not tell arithmetic from other Python, and misses
    `tolist()` of tensors on a GPU (TDY301 names the wait) and right after `cpu()`, as that looks
    like `numpy()`.
    """

    code = "TDY414"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.STEPS})
    fix = "compute with operators on the tensor, and read one result: sum(), bincount()"
    fewest_numbers = Option(8, "fewer numbers of a tensor are sizes and flags", least=1)
    longest_us = Option(0.5, "Python that takes longer for a number is no arithmetic", least=0.0)
    worth_a_word = word_share(0.03, "such Python")
    examples = (
        Fires("sum", steps(under(FRAME, _LIST, _PYTHON, _NEXT), lasts_us=None), 3, AT),
        Fires(
            "rows",
            steps(
                under(
                    FRAME,
                    joined(_LIST.replace("4096", "64"), "train.py(9): <genexpr> 20us") * 16,
                    _NEXT,
                ),
                lasts_us=None,
            ),
            events=48,
            at=AT,
        ),
        Quiet("numpy", steps("aten::detach", "aten::to", _LIST, _PYTHON, _NEXT, lasts_us=None)),
        Quiet("once", steps(_NEXT) + _LIST + _PYTHON + _NEXT),
        Quiet("slow", steps(_LIST, "train.py(9): <genexpr> 3000us", _NEXT, lasts_us=None)),
        Quiet("little", steps(_LIST, _PYTHON, "aten::mm 90000us", lasts_us=None)),
        Quiet(
            "few-numbers", steps(_LIST.replace("4096", "4"), "train.py(9): <genexpr> 7us", _NEXT)
        ),
        Quiet("a-tensor-again", steps(_LIST, _PYTHON, "aten::to\naten::lift_fresh")),
        Quiet("in-a-loader", steps(under(frames.FETCH_ALONE, _LIST, _PYTHON, _NEXT))),
        Quiet("a-range-of-its-own", steps(_LIST, "other 400us", _NEXT, lasts_us=None)),
        Quiet("operators-at-once", steps(_LIST, _NEXT, _PYTHON)),
        Abstains("no-shapes", "aten::resolve_conj\naten::resolve_neg"),
    )

    def find(self, trace: Trace) -> Matches:
        found = (read for read in _reads(trace) if self._is_python_on_numbers(read))
        for same in loops.Loop(trace).parts(found, lambda read: read.event):
            time = Intervals([r.event.start_ns for r in same], [r.until_ns for r in same])
            if (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            events = [read.event for read in same]
            rows = np.array([event.row for event in events])
            count = count_text(trace, sum(read.numbers for read in same), "numbers", [rows])
            host = {int(trace.track_id[rows[0]]): time}
            lasts = time_text(sum(read.python_ns for read in same) / len(same))
            yield Match(
                events,
                f"tolist() gives {count} to Python, which runs for {lasts} after each call,"
                " until the next operator",
                time,
                Edit("operators instead", host=host, left=_LEFT),
                at_most=Severity.INFO,
            )

    def _is_python_on_numbers(self, read: _ReadList) -> bool:
        is_long = read.numbers >= self.fewest_numbers
        return is_long and read.python_ns <= 1e3 * self.longest_us * read.numbers


class _ReadList(NamedTuple):
    """One `tolist()`: its last operator, of how many numbers, and when Python is done with them."""

    event: Event
    numbers: int
    until_ns: int

    @property
    def python_ns(self) -> int:
        return self.until_ns - self.event.end_ns


def _reads(trace: Trace) -> Iterator[_ReadList]:
    """Yield all outside of loaders whose numbers no tensor is made of next, by start."""
    reads = trace.rows_named(_NEG)
    fetching = trace.time_of(trace.rows_named(frames.FETCH))
    ranges = trace.rows_of_kind(EventKind.Annotation)
    for track in np.flatnonzero(np.bincount(trace.track_id[reads])).tolist():
        ops = ops_in_no_op(trace, track)
        own = ops[_lists(trace, ops)]
        own = own[~fetching.contains(trace.start_ns[own])]
        starts = np.append(
            trace.start_ns[ops], trace.start_ns[ranges[trace.track_id[ranges] == track]]
        )
        starts.sort()
        at = np.searchsorted(starts, trace.end_ns[own])
        for row, number in zip(own.tolist(), at.tolist(), strict=True):
            shapes = trace.inputs.shapes(int(trace.inputs_id[row]))
            if number < len(starts) and shapes and is_dims(shapes[0]):
                yield _ReadList(trace.event(row), prod(shapes[0]), int(starts[number]))


def _lists(trace: Trace, ops: Rows) -> Rows:
    """Return where among the ops the last one of a `tolist()` is."""
    is_conj, is_neg, is_cast, is_made, begins = (
        np.append(has_name(trace, *names)[trace.name_id[ops]], [False] * 4)
        for names in ((_CONJ,), (_NEG,), (_CAST,), (_MADE,), (_CAST, "aten::empty"))
    )
    is_list = is_conj[:-4] & is_neg[1:-3]
    is_list[1:] &= ~is_cast[: len(is_list) - 1]
    # It becomes a tensor, perhaps of another type.
    becomes = is_made[4:]
    for at in (3, 2):
        becomes = is_made[at : at - 4] | (begins[at : at - 4] & becomes)
    found: Rows = np.flatnonzero(is_list & ~becomes) + 1
    return found
