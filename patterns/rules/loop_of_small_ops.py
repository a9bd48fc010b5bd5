"""TDY411: a Python loop that calls the same small operators again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Severity
from tidy.trace import Capability, Event, EventKind, Location, Rows, Trace
from tidy.trace.location import is_user_file, parse_frame

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, devices, launches
from ..evidence.device.repeats import repeated_ops
from ..evidence.fixes.counted_loops import Forms
from ..evidence.fixes.optimizers import zeroing_calls
from ..evidence.fixes.sample_loops import loops_over_rows, loops_over_slices
from ..evidence.python import frames, loops, places
from ..evidence.python.op_names import PRODUCTS, TRAINING_STEPS, VIEWS, aten
from ..evidence.time.rare_work import in_most_steps
from ..evidence.time.rounds import count_text, with_backward
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import Option, alike_rounds, most_forms_of_rounds, word_share

# Loops with one of these in each round are another rule's, or batches of what memory holds.
_OTHERS = PRODUCTS | aten(
    "slice cat embedding_bag _embedding_bag conv_transpose1d conv_transpose2d"
    " conv_transpose3d mv addmv bilinear"
)
# What torch.tensor() of a list calls, which TDY107 looks at.
_MAKES_A_TENSOR = aten("empty to lift_fresh detach_")
# What `tolist()` calls, of a row or a part, which TDY414 looks at.
_LISTS, _OF_LISTS = aten("resolve_conj resolve_neg"), VIEWS | aten("resolve_conj resolve_neg")
_READS = aten("item _local_scalar_dense")
_MOST_NAMED = 4
_FEWEST_STEPS = 3  # of which one may be unlike the others
# Rounds of these alone make no result that one operator could make for all of them.
_NO_RESULT = VIEWS | aten("to lift_fresh detach_ resolve_conj resolve_neg")
# Where a loop stands that Python's own `copy` runs for its caller.
_COPIES = "copy.py"
# A method of AveragedModel, which with `multi_avg_fn` averages all parameters at once.
_AVERAGES = re.compile(r"(.*/)?optim/swa_utils\.py\(\d+\): update_parameters")
_NOT_AVERAGED = _NO_RESULT | aten("copy_ item _local_scalar_dense")
_AVERAGED = "give AveragedModel a multi_avg_fn: get_ema_multi_avg_fn(decay), or SWA's"

_ITEM = "data.py(3): __getitem__"
_ZERO_GRAD = "Optimizer.zero_grad#SGD.zero_grad"
_ROW = "aten::sum 9us | float[8]\naten::sqrt 9us\n"
_ROWS = "aten::unbind | float[16, 8], =0", (_ROW + "aten::exp\n") * 3, _ROW + "aten::neg\n"
_SAMPLES = "".join(
    f"aten::slice | float[16, 8], =0, ={at}, ={at + 1}, =1\n"
    + "aten::tanh 9us | float[1, 8]\n" * 12
    for at in range(16)
)
_MASK = "aten::eq 9us\naten::index 9us\naten::sum 9us\n"
_TWO_MORE = "ProfilerStep#8 1000us\n\nProfilerStep#9 1000us\n\n"
_UPDATES = "torch/optim/swa_utils.py(229): update_parameters"
_AVERAGED_ONE = "aten::sub 9us\naten::add 9us\naten::copy_ 9us\n"
# The operator before a loop is one of those in it.
_IN_MID_ROUND = "aten::add_ 9us @train.py(8): train\n" + (
    "aten::mul_ 9us @train.py(12): train\naten::add_ 9us @train.py(13): train\n" * 30
)
# Python calls first what is in the arguments, at a later line.
_OVER_LINES = "aten::mul 9us @train.py(13): train\naten::add 9us @train.py(12): train\n" * 10


class LoopOfSmallOps(Pattern):
    """A loop calls the same small operators for one node, class, number or parameter after another.

    What it does: It finds ten or more rounds of the same operators, at the same lines of the user's
    source, that take 2 % of the steps while no device works. Loops that index with a counter are
    TDY404, those over the samples of a batch and within such loops TDY406, those that concatenate
    TDY408, lists that become tensors TDY107, rows that become lists TDY414, copies of a model in
    each step TDY413, and gradients that `zero_grad` fills TDY603; with a matrix product or a
    convolution in each round it may be the layers of a model, and is not reported. Training steps,
    the items that a DataLoader takes one after the other, optimizers' steps, rounds whose operators
    take long, rounds of views and conversions that copy nothing, and loops that the first step
    alone has, which may make the model there, are not reported either. Of the loops that
    `torch.optim.swa_utils.AveragedModel` has itself only one that averages parameter by parameter
    is reported. It is info, since the trace does not tell whether a round needs the one before.
    Why it costs: Each operator takes some microseconds to be called, however little it computes,
    and its backward as much again.
    Example: `[x[target == node].sum(0) for node in range(n)]`, recorded as

        aten::eq  aten::index  aten::sum  aten::eq  aten::index  aten::sum  ...  ten rounds or more

    Instead: Write one op for all: `index_add_`, `scatter_reduce`, `bincount` and `one_hot` for
    masks; `torch._foreach_lerp_(averages, parameters, rate)` and its kin for lists of tensors;
    `torch.vmap` for a function of one item.
    Cannot see: It needs Python stacks. It misses loops of fewer than ten rounds, and rounds of
    which some take another branch.
    """

    code = "TDY411"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.STACKS})
    why_no_edit = "the trace does not tell whether each iteration needs the one before"
    fix = "if none needs the one before: one op for all (index_add_, torch._foreach_*)"
    fewest_rounds = Option(10, "a loop of fewer rounds is as readable as cheap", least=2)
    longest_round = Option(32, "rounds of more operators are whole models", least=1)
    longest_op_us = Option(
        50.0, "operators that take longer compute; their calls are not the cost", least=0.0
    )
    worth_a_word = word_share(0.02, "such rounds")
    # To tell loops over samples as TDY406 does, which reports them.
    alike_share, most_forms = alike_rounds(), most_forms_of_rounds()
    examples = (
        Fires("masks", steps(under(FRAME, _MASK * 12)), events=3, at=AT),
        Fires("parameters", steps(under(FRAME, "aten::mul_\naten::add_\n" * 30)), events=3, at=AT),
        Fires(
            "in-a-helper",
            steps(under(FRAME, under("train.py(1): put", _MASK) * 12)),
            events=3,
            at="train.py:1",
        ),
        Fires(
            "copies-of-a-state",
            steps(under(f"{FRAME} > copy.py(118): deepcopy", "aten::clone 9us\n" * 20)),
            events=3,
            at=AT,
        ),
        Fires("from-mid-round", steps(under(FRAME, _IN_MID_ROUND)), events=3, at="train.py:12"),
        Fires("over-several-lines", steps(under(FRAME, _OVER_LINES)), events=3, at="train.py:12"),
        Fires(
            "averages-of-parameters",
            steps(under(f"{FRAME} > {_UPDATES} @train.py(9): train", _AVERAGED_ONE * 20)),
            events=3,
            at="train.py:9",
        ),
        Quiet(
            "buffers-of-an-average",
            steps(under(f"{FRAME} > {_UPDATES}", "aten::detach 9us\naten::copy_ 9us\n" * 20)),
        ),
        Quiet("views", steps(under(FRAME, "aten::detach 9us\naten::to 9us\n" * 20))),
        Quiet("nine-rounds", steps(under(FRAME, _MASK * 9))),
        Quiet("little", steps(under(FRAME, _MASK * 12), "aten::mm 90000us", lasts_us=None)),
        Quiet("long-operators", steps(under(FRAME, "aten::sort 900us\n" * 12), lasts_us=None)),
        Quiet("layers", steps(under(FRAME, "aten::linear\naten::relu\naten::add\n" * 12))),
        Quiet("lists", steps(under(FRAME, "aten::resolve_conj\naten::resolve_neg\n" * 30))),
        Quiet("indexed", steps(under(FRAME, "aten::select\naten::mul\n" * 30))),
        Quiet("within-a-loop-over-samples", steps(under(FRAME, _SAMPLES))),
        Quiet("rows-with-a-branch", steps(under(FRAME, *_ROWS, _ROW * 12))),
        Quiet("a-librarys", steps(under(f"{FRAME} > torch/x.py(3): f", _MASK * 12))),
        Quiet("in-an-optimizer", steps(under(f"{FRAME} > Optimizer.step#M.step", _MASK * 12))),
        Quiet(
            "zeroed-gradients", steps(under(f"{FRAME} > {_ZERO_GRAD}", "aten::zero_ 9us\n" * 30))
        ),
        Quiet("in-the-first-step", steps(under(FRAME, _MASK * 12), count=1) + _TWO_MORE),
        Fires("in-the-last-step", _TWO_MORE + steps(under(FRAME, _MASK * 12), count=1), at=AT),
        Quiet("items", steps(under(f"{FRAME} > {frames.FETCH_ALONE}", under(_ITEM, _MASK) * 12))),
        Fires(
            "in-an-item",
            steps(under(f"{FRAME} > {frames.FETCH_ALONE} > {_ITEM}", _MASK * 12)),
            events=3,
            at="data.py:3",
        ),
        Quiet("before-the-steps", under(FRAME, _MASK * 12) + steps("aten::mm")),
        Abstains("no-stacks", steps(_MASK * 12)),
    )

    def find(self, trace: Trace) -> Matches:
        forms = Forms(self.alike_share, self.most_forms)
        found = _loops(trace, self.fewest_rounds, self.longest_round, forms)
        zeroed = trace.time_of(call.row for call in zeroing_calls(trace)[0])
        anothers = reduce(or_, (each.time for each in in_most_steps(trace)), zeroed)
        small = [
            loop
            for loop in found
            if loop.op_ns <= 1e3 * self.longest_op_us
            and not anothers.contains(trace.start_ns[loop.ops[:1]])[0]
        ]

        def first_of(loop: _Loop) -> Event:
            return trace.event(int(loop.ops[0]))

        for same in places.parts(small, lambda loop: loop.location, first_of):
            rounds = with_backward(trace, [loop.ops for loop in same])
            idle = rounds.time - devices.any_busy(trace)
            is_worth = (trace.step_share(idle) or 0.0) >= self.worth_a_word
            if is_worth and not _is_in_the_first_step(trace, same):
                count = sum(loop.rounds for loop in same)
                counted = count_text(trace, count, "iterations", [loop.ops for loop in same])
                called = _named(trace, same[0])
                yield Match(
                    [first_of(loop) for loop in same],
                    f"{counted} of a loop call {called}: little work in each",
                    rounds.time,
                    location=same[0].location,
                )

    def fix_of(self, events: Sequence[Event]) -> str:
        averages = any(_AVERAGES.fullmatch(above.name) for above in events[0].ancestors())
        return _AVERAGED if averages else self.fix


@dataclass(frozen=True, slots=True)
class _Loop:
    """One loop: its operators by start, whole rounds of `period` each.

    Attributes:
        op_ns: what an operator takes in the median.
        location: where the first is called.
    """

    ops: Rows
    period: int
    op_ns: float
    location: Location

    @property
    def rounds(self) -> int:
        return len(self.ops) // self.period


def _is_in_the_first_step(trace: Trace, same: Sequence[_Loop]) -> bool:
    """Tell whether of three steps or more only the first has these: it may make the model."""
    steps = loops.step_of(trace, trace.start_ns[[loop.ops[0] for loop in same]])
    return len(trace.steps) >= _FEWEST_STEPS and not steps.any()


def _named(trace: Trace, loop: _Loop) -> str:
    """The operators of a round, by their short names."""
    ids = trace.name_id[loop.ops[: loop.period]].tolist()
    names = list(dict.fromkeys(trace.names[each].removeprefix("aten::") for each in ids))
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _loops(trace: Trace, fewest_rounds: int, longest_round: int, forms: Forms) -> Iterator[_Loop]:
    """All loops of the user's code whose rounds no other rule looks at."""
    is_aten = launches.has_name(trace, "aten::*")
    is_anothers = launches.has_name(trace, *_OTHERS, *(_READS if trace.devices_used else ()))
    out_of_question = ~is_aten | is_anothers | launches.has_name(trace, *TRAINING_STEPS)
    makes_a_tensor = launches.has_name(trace, *_MAKES_A_TENSOR)
    reads_a_list = launches.has_name(trace, *_LISTS)
    no_result = launches.has_name(trace, *_NO_RESULT)
    is_of_lists = launches.has_name(trace, *_OF_LISTS)
    stacks = launches.has_name(trace, "aten::stack")
    copies = launches.tree_rows(trace, "aten::_to_copy", "aten::copy_")
    fetches = launches.below(trace, launches.tree_rows(trace, frames.FETCH))
    over_samples = np.zeros(trace.tree_count, bool)
    for of_batch in (
        *loops_over_rows(trace, fewest_rounds, longest_round, forms),
        *loops_over_slices(trace, fewest_rounds, forms),
    ):
        over_samples[of_batch.ops] = True
    own_tracks = np.flatnonzero(np.bincount(trace.track_id[: trace.tree_count]))
    for track in np.setdiff1d(own_tracks, autograd.tracks_of_the_engine(trace)).tolist():
        repeats = repeated_ops(trace, track, longest_round, fewest_rounds)
        step = loops.step_of(trace, trace.start_ns[repeats.rows])
        for first, last, period in repeats.runs:
            rows, one_round = repeats.rows[first:last], repeats.names[first : first + period]
            if out_of_question[one_round].any() or makes_a_tensor[one_round].all():
                continue
            if reads_a_list[one_round].any() and is_of_lists[one_round].all():
                continue
            # Of what makes no new tensor a conversion copies all the same.
            if no_result[one_round].all() and not launches.holds(trace, rows, copies).any():
                continue
            # What puts the items of a batch together is the loader's own, by whom it is called.
            if stacks[one_round].any() and fetches.contains(rows[:1])[0]:
                continue
            if over_samples[rows].any():
                continue
            for of_step in np.split(rows, np.flatnonzero(np.diff(step[first:last])) + 1):
                rounds = len(of_step) // period
                loop = rounds >= fewest_rounds and _loop(trace, of_step, period, fewest_rounds)
                if loop:
                    yield loop


def _loop(trace: Trace, ops: Rows, period: int, fewest_rounds: int) -> _Loop | None:
    """The loop of these rounds; None for a library's, and for rounds of several places."""
    around = _function_around(trace, ops)
    by_round = ops[: len(ops) // period * period].reshape(-1, period)
    if not _are_alike(trace, by_round):
        by_round = _from_its_first_line(trace, ops, period, around).reshape(-1, period)
        if len(by_round) < fewest_rounds or not _are_alike(trace, by_round):
            return None
    lines, ops = _lines(trace, by_round[0]), by_round.ravel()
    location = lines[_first_line(lines, around)]
    if location is None or _indexes(trace, by_round):
        return None
    if around is not None and _AVERAGES.fullmatch(around.name):
        averages = ~launches.has_name(trace, *_NOT_AVERAGED)[trace.name_id[by_round[0]]]
        location = around.location
        if location is None or not averages.any():
            return None
    elif not _is_of_user(around, location):
        return None
    return _Loop(ops, period, float(np.median(trace.duration_ns[ops])), location)


def _from_its_first_line(trace: Trace, ops: Rows, period: int, around: Event | None) -> Rows:
    """Return the whole rounds that begin at the first line of the loop.

    What is called before and after a loop may be an operator of its rounds, too: what repeats then
    begins or ends somewhere in a round.
    """
    middle = len(ops) // period // 2 * period
    usual = _lines(trace, ops[middle : middle + period])
    begin = _first_line(usual, around)
    usual = usual[begin:] + usual[:begin]
    for first in (begin, begin + period):
        if _lines(trace, ops[first : first + period]) == usual:
            break
    rounds = (len(ops) - first) // period
    last = first + (rounds - 1) * period
    is_own = _lines(trace, ops[last : last + period]) == usual
    return ops[first : last + period * is_own]


def _first_line(lines: list[Location | None], around: Event | None) -> int:
    """Return which of these is the first of the function around the loop, or 0."""
    frame = None if around is None else parse_frame(around.name)
    function = None if frame is None else frame.function
    own = [one.line for one in lines if one is not None and one.function == function]
    return next(
        (
            at
            for at, one in enumerate(lines)
            if own and one is not None and (one.function, one.line) == (function, min(own))
        ),
        0,
    )


def _are_alike(trace: Trace, by_round: NDArray[np.int64]) -> bool:
    """Tell whether the first round and the last one are called at the lines of the one between."""
    usual = _lines(trace, by_round[len(by_round) // 2])
    return all(_lines(trace, by_round[at]) == usual for at in (0, -1))


def _lines(trace: Trace, rows: Rows) -> list[Location | None]:
    return [trace.location(row) for row in rows.tolist()]


def _indexes(trace: Trace, by_round: NDArray[np.int64]) -> bool:
    """Tell whether rounds may index something else each, which TDY404 looks at."""
    selects = by_round[launches.has_name(trace, "aten::select")[trace.name_id[by_round]]]
    slots = len(selects) // len(by_round)
    return bool(slots) and loops.index_changes(trace, selects, slots, 2) is not False


def _function_around(trace: Trace, ops: Rows) -> Event | None:
    """Return the innermost function around all of these; None where no frame of one is known."""
    for above in Event(trace, int(ops[0])).ancestors():
        is_call = above.kind == EventKind.PyCall and parse_frame(above.name) is not None
        if is_call and trace.subtree_end[above.row] > ops[-1]:
            return above
    return None


def _is_of_user(around: Event | None, location: Location) -> bool:
    """Tell whether the function around all rounds is the user's own, or copies for it."""
    frame = None if around is None else parse_frame(around.name)
    if frame is not None:
        return is_user_file(frame.file) or frame.file.rpartition("/")[2] == _COPIES
    # Some recordings give operators their line without frames around them.
    return location.is_call_line
