"""TDY404: a Python loop that visits a tensor element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import attrgetter

import numpy as np

from tidy.finding import Severity
from tidy.trace import Capability, Event, EventKind, Location, Rows, Trace
from tidy.trace.links import grouped

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, launches
from ..evidence.device.autograd import called_by_script
from ..evidence.device.carried import may_be_carried
from ..evidence.device.repeats import repeated_ops
from ..evidence.device.updates import optimizing
from ..evidence.fixes import edits
from ..evidence.fixes.counted_loops import CountedLoop, Forms, counted_loops, element_of
from ..evidence.fixes.item_batches import Limits, put_together
from ..evidence.fixes.rounds_by_names import Body, body_of_rounds
from ..evidence.python import frames, loops, places
from ..evidence.python.op_names import PRODUCTS, RECURRENT, TRAINING_STEPS
from ..evidence.time.rounds import count_text, with_backward
from ..examples import AT, FRAME, Fires, Quiet, joined, steps, under
from ..option import EASY_WARNING, LARGE_INFO, Option, alike_rounds, most_forms_of_rounds, share

_BATCH_THEM = "for a product each: batch them if none needs the one before"
_BRANCHING = "element by element, some by another branch: torch.where() if none needs another"
_DECIDING = "element by element, and a value read in each may decide a branch: then torch.where()"
_CARRIED = "element by element, where each may need the one before"
_UNTOLD = "element by element; record_shapes=True may tell if each needs the one before"
_ONE_LAYER = "nn.LSTM, nn.GRU or nn.RNN for all iterations, if no input needs a result"

# Batches that TDY106 names, unless its options say otherwise.
_PUT_TOGETHER = Limits(8, 250.0, EASY_WARNING, LARGE_INFO)
_MOSTLY = 0.5  # of the rounds

_ELEMENT = "aten::select | float[12, 4], =0, ={}\naten::fill_\n"
_ROWS = "".join(f"aten::select 9us | float[90, 8], =0, ={7 * at}\n" for at in range(12))
_BACKWARD = "autograd::engine::evaluate_function: MmBackward0\n"
_BACKWARD_CALL = "torch/autograd/graph.py(841): _engine_run_backward"
_OF_DDP = "aten::select\naten::item\ntorch.distributed.ddp.reducer::copy_bucket_to_grad\n"
_FETCH = f"{FRAME} > {frames.FETCH_ALONE} > torch/utils/data/_utils/fetch.py(49): fetch"
_ITEM = "data.py(3): __getitem__"
_TAKEN = under(_ITEM, "aten::select @data.py(4): __getitem__\naten::fill_\n") * 12
_WRITES_IF = "aten::select\naten::gt\naten::is_nonzero\naten::select\naten::fill_\n"
_FROM_A_WRITE = "aten::select @train.py(9): train\naten::copy_ @train.py(9): train\n" + (
    "aten::select @train.py(8): train\naten::gt @train.py(8): train\naten::is_nonzero\n"
    "aten::lift_fresh\naten::select @train.py(9): train\naten::copy_ @train.py(9): train\n" * 12
)
_UPDATE = under("Optimizer.step#SGD.step > aten::add_")
_NODE = under("autograd::engine::evaluate_function: MmBackward0 > MmBackward0 seq=1/1", "aten::mm")


def _ops(names: str = "select fill_") -> str:
    return "".join(f"aten::{name}\n" for name in names.split())


def _elements(more: str = "") -> str:
    return joined(*(_ELEMENT.format(at) + _ops(more) for at in range(12)))


def _branching(*bodies: str, count: int = 16) -> str:
    """Rounds that take one of these forms each, in an order that does not repeat soon."""
    each = (bodies[(3 * at + at // 4) % len(bodies)] for at in range(count))
    select = "aten::select | float[16, 3], =0, ={}\n"
    return "".join(select.format(at) + body for at, body in enumerate(each))


def _sums(count: int = 12) -> str:
    """Rounds whose sum is kept until the next one has made its own."""
    rounds = list[str]()
    for at in range(count):
        rounds.append(f"aten::select | float[12, 3], =0, ={at}\naten::mul | float[3]")
        rounds.append(
            under("aten::add | float[3], float[3]", f"[memory] 12B at {7 + at % 2} of 24")
        )
        if at:
            rounds.append(f"[memory] -12B at {8 - at % 2} of 12")
    return joined(*rounds)


def _written(count: int = 12) -> str:
    """Rounds that make a tensor, write it into another one, and let go of it."""
    return joined(
        *(
            under("aten::mul | float[3]", "[memory] 12B at 7 of 12")
            + f"aten::select | float[12, 3], =0, ={at}\naten::copy_ | float[3], float[3]\n"
            + "[memory] -12B at 7 of 0\n"
            for at in range(count)
        )
    )


class ForLoopIndexing(Pattern):
    """A loop indexes a tensor with its counter, one small op after the other.

    What it does: It compares ops in the order in which a thread ran them, whatever Python functions
    they came from, so a body in a helper function and nested loops count too. There have to be ten
    rounds, and where inputs were recorded the index has to change from round to round. Rounds with
    a matrix product or a convolution are info: they can be batched, unless each needs the one
    before, as in a recurrent network; the trace cannot tell. Without inputs they are not reported:
    the layers of a model look the same. Rounds that may need what the one before made are info,
    but for sums of which shapes, memory or gradients tell that rounds only add to them. Without
    shapes others are warnings only if they fill what they select, or call one function of it.
    Info are also rounds that differ by a branch or two, where inputs were
    recorded, and rounds that test a tensor or read a value, and then end, compute or, after a test,
    write: a branch may not have been taken, or the loop may end at some value.
    Rounds of views alone count where they take 1 % of the steps. Rows that become one tensor, and
    nothing else, are left to TDY106 where that names them. Training steps, the
    indexing of one item after the other that a DataLoader does, an optimizer's step, and what C++
    does in the autograd engine are not reported either.
    Why it costs: Each op takes some microseconds, thousands of times, and on a GPU a launch; each
    one more in a backward.
    Example: `for i in range(n): t[i] = i`, recorded as

        aten::select  aten::fill_  aten::select  aten::fill_  ...      ten rounds or more

    Instead: Write one op on the whole tensor: `t[:] = torch.arange(n)`, `t = u + 1`, `torch.where`.
    `nn.LSTM`, `nn.GRU` and `nn.RNN` take a whole sequence where cells take one element of each.
    Cannot see: It misses loops of fewer than ten rounds, bodies of more than 32 ops, and loops over
    `aten::unbind`.
    """

    code = "TDY404"
    why_no_edit = "the trace does not tell whether one op can do what all iterations do"
    fix = "write it as one op on the whole tensor (slices, arange, where, scatter)"
    fewest_rounds = Option(
        10, "TorchTidy's: a loop of fewer rounds is as readable as cheap", least=2
    )
    alike_share, most_forms = alike_rounds(), most_forms_of_rounds()
    longest_round = Option(
        32, "a round of more ops is a training step, or at least no element-wise body", least=1
    )
    views_from = share(
        EASY_WARNING, "rounds of views alone are left out where they take less of the steps"
    )
    examples = (
        Fires("fill", under(FRAME, _ops() * 12), at=AT),
        Fires("helper", under(FRAME, under("train.py(1): put", _ops()) * 12), at=AT),
        Fires(
            "no-shapes", under(FRAME, _ops("select add select copy_") * 10), 1, AT, Severity.INFO
        ),
        Fires("between-other-work", _ops() * 12 + "aten::mm\n" + _ops() * 5, events=2),
        Fires("index-changes", _elements()),
        Quiet("rows-that-are-stacked", steps(under(FRAME, _ROWS + "aten::stack 20us\n"))),
        Fires("rows-that-are-kept", steps("aten::mm", under(FRAME, _ROWS)), events=3, at=AT),
        Quiet("nine-rounds", under(FRAME, _ops() * 9)),
        Quiet("same-index", _ELEMENT.format(0) * 12),
        Fires("product-in-each-round", _elements("mm tanh"), severity=Severity.INFO),
        Fires("a-cell-in-each-round", _elements("lstm_cell"), severity=Severity.INFO),
        Fires("what-is-written-is-not-needed-after", _written()),
        Fires("the-sum-before-is-needed", _sums(), severity=Severity.INFO),
        Fires(
            "branches",
            under(FRAME, _branching("aten::mul\n", "aten::flip\naten::mul\n")),
            at=AT,
            severity=Severity.INFO,
        ),
        Fires("a-condition", under(FRAME, _ops("select gt is_nonzero") * 12), 1, AT, Severity.INFO),
        Fires("work-after", under(FRAME, _ops("select item mul") * 12), 1, AT, Severity.INFO),
        Fires("a-value", under(FRAME, _ops("select item") * 12), 1, AT, Severity.INFO),
        Fires("written-if", under(FRAME, _WRITES_IF * 12), 1, AT, Severity.INFO),
        Fires("from-mid-round", under(FRAME, _FROM_A_WRITE), 1, "train.py:8", Severity.INFO),
        Fires("a-condition-for-python", under(FRAME, _ops("select eq is_nonzero to") * 12), at=AT),
        Fires("values", under(FRAME, _ops("select item select fill_") * 12), 1, AT, Severity.INFO),
        Quiet("each-another", _branching(*("aten::mul\n" * count for count in range(1, 8)))),
        Quiet("few-branches", _branching("aten::mul\n", "aten::flip\naten::mul\n", count=9)),
        Quiet("layers-without-inputs", _ops("select select mm add tanh") * 12),
        Quiet("in-an-optimizer", under("Optimizer.step#Mine.step", _ops("select add_") * 12)),
        Quiet("of-data-parallelism", _OF_DDP * 12),
        Quiet("right-below-the-engine", under(_BACKWARD_CALL, _ops("select item") * 12)),
        Quiet("steps-whose-backward-is-on-another-thread", (_ops("select mm") + _UPDATE) * 12),
        Fires("views-that-take-time", under(FRAME, _ops("select view") * 12), at=AT),
        Quiet("views-that-take-none", _ops("select view") * 12 + "aten::mm 9000us\n"),
        Quiet("in-the-engine", f"aten::mm seq=1\nthread 2\n{_NODE}" + _ops("select item") * 12),
        Quiet("training-steps", (_ops("select mm") + _BACKWARD) * 12),
        Quiet("data-set", under(frames.FETCH_ALONE, _ops("select") * 12)),
        Quiet("items", under(_FETCH, under(_ITEM, _ops("select mul")) * 12)),
        Fires("in-an-item", under(f"{_FETCH} > {_ITEM}", _ops() * 12), at="data.py:3"),
        Fires("as-items", under(FRAME, _TAKEN, under(frames.FETCH_ALONE, _TAKEN)), at="data.py:4"),
    )

    def find(self, trace: Trace) -> Matches:
        walks = _not_put_together(list(_loops(trace, self.fewest_rounds, self.longest_round)))
        forms = Forms(self.alike_share, self.most_forms)
        branching = [*_loops_with_branches(trace, self.fewest_rounds, self.longest_round, forms)]
        found = _without_parts(walks, branching)
        first = attrgetter("first")
        for walks in places.parts(
            found, lambda walk: (walk.location, walk.body is Body.VIEWS, walk.doubt), first
        ):
            time = loops.time_of_rounds(trace, [walk.rows for walk in walks])
            if walks[0].body is Body.VIEWS and (trace.step_share(time) or 0.0) < self.views_from:
                continue
            rounds = with_backward(trace, [walk.rows for walk in walks])
            count, fewest = sum(w.rounds for w in walks), min(w.rounds for w in walks)
            carried = _CARRIED if Capability.SHAPES in trace.capabilities else _UNTOLD
            doubt = walks[0].doubt or (carried if any(w.is_carried for w in walks) else "")
            counted = count_text(trace, count, "iterations", [walk.rows for walk in walks])
            one_op = edits.one_op_for_rounds(trace, rounds.rows, rounds.host, fewest)
            yield Match(
                [walk.first for walk in walks],
                f"{counted} index a tensor {doubt or 'element by element'}",
                severity=Severity.INFO if doubt else Severity.WARNING,
                location=walks[0].location,
                cost=rounds.time,
                edit=None if doubt else one_op,
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        trace, first = events[0].trace, events[0].row
        ops = launches.ops_in_no_op(trace, int(trace.track_id[first]))
        at = int(np.searchsorted(ops, first))
        a_round = trace.name_id[ops[at : at + self.longest_round]]
        is_cell = launches.has_name(trace, *RECURRENT)[a_round]
        selects = a_round == a_round[0]
        # The next round, or other work after the last one, may hold what this one does not.
        next_round = np.flatnonzero(selects[1:] & ~selects[:-1])
        upto = int(next_round[0]) + 1 if len(next_round) else len(a_round)
        return _ONE_LAYER if is_cell[:upto].any() else self.fix


@dataclass(frozen=True, slots=True)
class _Walk:
    """A loop over a tensor: its ops from the first select on, and where it is."""

    trace: Trace
    rows: Rows
    rounds: int
    location: Location | None
    body: Body
    is_carried: bool = False
    has_branches: bool = False

    @property
    def first(self) -> Event:
        """Its first op."""
        return Event(self.trace, int(self.rows[0]))

    @property
    def doubt(self) -> str:
        """How its rounds are told of, if they may not be one op for what they do; "" if not."""
        if self.body is Body.PRODUCTS or not self.has_branches:
            return {Body.PRODUCTS: _BATCH_THEM, Body.DECIDES: _DECIDING}.get(self.body, "")
        return _BRANCHING


def _not_put_together(walks: list[_Walk]) -> list[_Walk]:
    """Leave out lines whose rounds only take what becomes one tensor."""
    items = put_together(walks[0].trace, _PUT_TOGETHER) if walks else ()
    if not len(items):
        return walks
    others = [not np.isin(walk.rows, items).all() for walk in walks]
    lines = {walk.location for walk, is_other in zip(walks, others, strict=True) if not is_other}
    lines.discard(None)  # in a first step, which does not count, such a line is no batch
    return [walk for walk in compress(walks, others) if walk.location not in lines]


def _loops(trace: Trace, fewest_rounds: int, longest_round: int) -> Iterator[_Walk]:
    selects = launches.tree_rows(trace, "aten::select")
    if len(selects) < fewest_rounds:
        return
    is_step, body_of = launches.has_name(trace, *TRAINING_STEPS), body_of_rounds(trace)
    of_the_engine = autograd.tracks_of_the_engine(trace)
    select_id = trace.strings.names["aten::select"]
    for track in np.setdiff1d(trace.track_id[selects], of_the_engine).tolist():
        repeats = repeated_ops(trace, track, longest_round, fewest_rounds)
        rows, names = repeats.rows, repeats.names
        taken = np.zeros(len(names), bool)
        found = dict[tuple[Location | None, tuple[int, ...]], _Walk]()
        for first, last, period in repeats.runs:
            one_round = names[first : first + period]
            if select_id not in one_round or is_step[one_round].any():
                continue
            start = first + loops.begin_of_rounds(trace, rows[first:last], period, select_id)
            body = body_of(names[start : start + period])
            whole = loops.whole_rounds(trace, rows[first:last], period)
            walk = _walk(trace, rows[start:last], whole, period, fewest_rounds, body)
            if walk is not None:
                taken[first:last] = True
                found[walk.location, tuple(names[start : start + period].tolist())] = walk
                yield walk
        # Rounds of the same loops between other work, of which there are fewer each time.
        places_of = grouped(names) if found else {}
        for (location, called), walk in found.items():
            for first, last in loops.further_rounds(names, places_of, called, taken):
                if repeats.calls[first] != repeats.calls[last - 1]:  # items of a loader
                    continue
                more = _walk(trace, rows[first:last], rows[first:last], len(called), 2, walk.body)
                if more is not None and more.location == location:
                    taken[first:last] = True
                    yield more


def _without_parts(walks: Sequence[_Walk], branching: Sequence[_Walk]) -> Iterator[_Walk]:
    """Yield loops with branches, and others that are no stretch of one of these.

    Of a loop whose rounds are mostly alike the stretches stand for it, and have its branches: so
    do other rounds at their lines, which took one branch alone.
    """
    firsts = np.array([walk.rows[0] for walk in walks], np.int64)
    left, has_branches = np.ones(len(walks), bool), np.zeros(len(walks), bool)
    lines_with_branches = set[Location | None]()
    for loop in branching:
        within = np.flatnonzero((firsts >= loop.rows[0]) & (firsts <= loop.rows[-1])).tolist()
        if sum(walks[at].rounds for at in within) < _MOSTLY * loop.rounds:
            left[within] = False
            lines_with_branches.add(loop.location)
            yield loop
        else:
            has_branches[within] = True
            lines_with_branches |= {walks[at].location for at in within}
    lines_with_branches.discard(None)
    for at in np.flatnonzero(left).tolist():
        walk = walks[at]
        is_one = has_branches[at] or walk.location in lines_with_branches
        yield replace(walk, has_branches=True) if is_one else walk


def _loops_with_branches(
    trace: Trace, fewest_rounds: int, longest_round: int, forms: Forms
) -> Iterator[_Walk]:
    """Loops that index with a counter, and whose rounds have several forms."""
    selects = called_by_script(trace, "aten::select")
    selects = selects[~optimizing(trace).contains(trace.start_ns[selects])]
    is_step, is_product, is_select = (
        launches.has_name(trace, *names) for names in (TRAINING_STEPS, PRODUCTS, ("aten::select",))
    )

    def walk_of(loop: CountedLoop) -> _Walk | None:
        in_rounds = np.unique(np.concatenate(loop.forms))
        if len(loop.forms) == 1 or max(map(len, loop.forms)) > longest_round:
            return None
        if is_step[trace.name_id[loop.ops]].any():
            return None
        body = Body.PRODUCTS if is_product[in_rounds].any() else Body.ELEMENTS
        walk = _walk_at(trace, loop.ops, loop.rounds, body)
        if walk is None:
            return None
        # Of the lines that index in some rounds the first is named, whichever round comes first.
        at, indexing = walk.location, loop.ops[is_select[trace.name_id[loop.ops]]]
        lines = map(trace.location, indexing[:fewest_rounds].tolist())
        same = [one for one in lines if one and at and one.function == at.function]
        first = min(same, key=attrgetter("line"), default=at)
        return replace(walk, location=first, has_branches=True)

    return counted_loops(trace, selects, element_of, fewest_rounds, forms, walk_of)


def _is_of_data_sets(around: Event) -> bool:
    """Tell whether the function around rounds is one of PyTorch's own data sets or loaders."""
    called = (each for each in (around, *around.ancestors()) if each.kind == EventKind.PyCall)
    function = next(called, None)
    return function is not None and frames.DATA_SETS in function.name


def _walk(
    trace: Trace, rows: Rows, whole: Rows, period: int, fewest_rounds: int, body: Body
) -> _Walk | None:
    """The walk that `rows` are, from a select on; rounds of `whole` begin as in the source."""
    select_id = trace.strings.names["aten::select"]
    selects = rows[trace.name_id[rows] == select_id]
    slots = int((trace.name_id[rows[:period]] == select_id).sum())
    rounds = -(-len(selects) // slots)
    if rounds < fewest_rounds:
        return None
    changes = loops.index_changes(trace, selects, slots, fewest_rounds)
    # Without inputs the layers of a model look like a loop around products.
    if changes is False or (changes is None and body is Body.PRODUCTS):
        return None
    walk = _walk_at(trace, rows, rounds, body)
    if walk is None or body is Body.PRODUCTS:
        return walk
    return replace(walk, is_carried=may_be_carried(trace, whole, period))


def _walk_at(trace: Trace, rows: Rows, rounds: int, body: Body) -> _Walk | None:
    """The walk with its location; None for PyTorch's data sets, its engine and training steps."""
    above_first = list(Event(trace, int(rows[0])).ancestors())
    holding = (e for e in above_first if int(trace.subtree_end[e.row]) > int(rows[-1]))
    frame = next(holding, None)
    if frame is not None and _is_of_data_sets(frame):
        return None
    steps = loops.count_begun(trace, int(trace.start_ns[rows[0]]), int(trace.end_ns[rows[-1]]))
    if steps >= rounds - 1:
        return None
    caller = next((each for each in above_first if each.kind == EventKind.PyCall), None)
    if caller is not None and frames.RUNS_BACKWARD.fullmatch(caller.name):
        return None
    # The line that indexes, where that was recorded; else the function around the loop.
    line = trace.location(int(rows[0]))
    if line is None or not line.is_call_line:
        line = None if frame is None else frame.location
    return _Walk(trace, rows, rounds, line, body)
