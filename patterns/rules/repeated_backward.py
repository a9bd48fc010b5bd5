"""TDY703: a backward that walks a graph which an earlier one walked already."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from tidy.finding import Severity
from tidy.trace import Event, EventKind, Location, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, launches, walks
from ..evidence.device.autograd import NODE
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.time.rounds import count_text
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, Option, word_share

_FEW = 0.2
# What each call of torch.autograd.grad() makes that is given no gradient of its output, a scalar,
# and what is given for outputs of many samples.
_GIVEN = "aten::ones_like"
_LEFT = (0.0, 0.1)
_ONE_CALL = "ask for all at once: torch.autograd.grad(loss, list(parameters))"


def _forward(count: int = 12) -> str:
    return "".join(f"aten::linear 9us seq={n}\n" for n in range(1, count + 1))


def _backward(
    line: int = 7, count: int = 12, inside: str = "aten::mm 9us", accumulates: bool = True
) -> str:
    nodes = (
        under(f"{NODE}AddmmBackward0 > AddmmBackward0 seq={n}/1 | float[]", inside.format(n + 50))
        for n in range(count, 0, -1)
    )
    gradient = under(f"{NODE}{walks.ACCUMULATE}", walks.ACCUMULATE)
    above = f"train.py({line}): train > torch/_tensor.py(600): backward"
    return under(above, *nodes, *([gradient] if accumulates else ()))


def _grad(line: int = 7, root: int = 12, dims: str = "", then: str = "") -> str:
    """A call of torch.autograd.grad(), for an input that is far from the output."""
    walk = _backward(line, root, accumulates=False)
    return f"{_GIVEN} @train.py({line}): train | float[{dims}]\n" + then + walk


_DERIVED = "aten::mm 9us seq={}"
_OF_IT = "".join(
    under(f"{NODE}MmBackward0 > MmBackward0 seq={n + 50}/1", "aten::mm") for n in range(12, 0, -1)
)


class RepeatedBackward(Pattern):
    """A backward walks a graph again, which an earlier backward walked already.

    What it does: It finds six or more nodes of the autograd graph that run a second time, known by
    their operators' sequence numbers, whose first runs take 5 % of the steps. First runs that make
    a graph themselves (`create_graph=True`) do not count, as a derivative of them is asked for, nor
    do those that accumulate no gradient, as of `torch.autograd.grad`. Of these it finds three or
    more a step that one line asks for, each from the same node of one loss; they are a warning,
    since one call gives the gradients of all inputs.
    Why it costs: Each walk computes all gradients of what it passes. `retain_graph=True`, which a
    second walk needs, also keeps all activations. Where a state is carried from step to step, each
    backward walks all the steps before, and a step takes longer than the one before.
    Example: `first.backward(retain_graph=True)` and then `second.backward()`, recorded as

        AddmmBackward0    Sequence number 41, Fwd thread id 1
        AddmmBackward0    Sequence number 41, Fwd thread id 1      and so on

    Instead: Add the losses and call `backward()` once. Give `torch.autograd.grad` all inputs at
    once. Detach what a loss shall not reach: a
    generator's images for the discriminator, a recurrent state between steps.
    Cannot see: Whether the gradients of each loss are needed on their own, as methods do that weigh
    tasks by them. That is why it is info. Calls of `torch.autograd.grad` that are given other
    `grad_outputs` than `torch.ones_like(output)`, made in the call, are left alone: they may be
    rows of a Jacobian. Those of tidy.runtime do not show whether they were, nor does a recording
    without shapes.
    """

    code = "TDY703"
    severity = Severity.INFO
    fix = "call backward() once, on the sum of losses; detach() what a loss shall not reach"
    why_no_edit = "the trace does not tell which gradients are needed on their own"
    fewest_nodes = Option(6, "fewer nodes are the end of a loss, which several losses share")
    worth_a_word = word_share(LARGE_INFO, "first walks")
    fewest_calls = Option(3, "two calls of torch.autograd.grad may be two derivatives", least=2)
    examples = (
        Fires("two-losses", steps(_forward() + _backward() + _backward(9)), 3, AT),
        Fires("a-state-of-steps-before", _forward() + steps(_backward()), 2, AT),
        Quiet("once", steps(_forward() + _backward())),
        Quiet("the-end-alone", steps(_forward() + _backward(count=5) + _backward(9))),
        Quiet(
            "a-derivative-of-it",
            steps(_forward() + _backward(inside=_DERIVED) + _backward(9) + _OF_IT),
        ),
        Fires("one-input-a-call", steps(_forward() + _grad() * 4), 12, AT, Severity.WARNING),
        Fires("ones", steps(_forward() + _grad(dims="8, 1") * 4), 12, AT, Severity.WARNING),
        Quiet("masks", steps(_forward() + _grad(dims="8, 1", then="aten::fill_\n") * 4)),
        Quiet("two-inputs", steps(_forward() + _grad() * 2)),
        Quiet("of-other-losses", steps(_forward() + "".join(_grad(root=n) for n in (12, 11, 10)))),
        Quiet("of-several-lines", steps(_forward() + "".join(_grad(n) for n in (7, 8, 9)))),
        Quiet("rows-of-a-jacobian", steps(_forward() + _grad().partition("\n")[2] * 4)),
        Quiet("asked-for", steps(_forward() + _backward(accumulates=False) + _backward(9))),
        Quiet("little", steps(_backward() * 2, "aten::mm 90000us", lasts_us=None)),
        Abstains("no-ops", FRAME),
    )

    def find(self, trace: Trace) -> Matches:
        found, calls = list(_first_walks(trace)), list(trace.events(autograd.calls_of(trace)))
        nodes_of = {trace.event(int(nodes[0])): nodes for nodes in found}
        place_of = {first: _place(first, calls) for first in nodes_of}
        for same in places.parts(nodes_of, place_of.__getitem__):
            nodes = np.concatenate([nodes_of[first] for first in same])
            in_steps = loops.steps_with(trace, trace.start_ns[nodes], self.fewest_nodes)
            is_many = bool(in_steps) if trace.steps else len(nodes) >= self.fewest_nodes
            time = trace.time_of(nodes)
            if is_many and (trace.step_share(time) or 0.0) >= self.worth_a_word:
                count = max(len(nodes_of[first]) for first in same)
                what = f"{count} nodes of the graph are walked again by a later backward"
                yield Match(same, what, time, location=place_of[same[0]])
        yield from self._of_one_loss(trace)

    def _of_one_loss(self, trace: Trace) -> Matches:
        """The calls of torch.autograd.grad() for one input after the other."""
        by_loss = places.grouped(
            _calls_of_grad(trace), lambda call: (call.given.location, call.loss)
        )
        many = [call for same in by_loss if len(same) >= self.fewest_calls for call in same]
        for line in places.parts(many, lambda call: call.given.location, attrgetter("given")):
            longest = {call.loss: call for call in sorted(line, key=attrgetter("time_ns"))}
            needless = [call.nodes for call in line if call is not longest[call.loss]]
            if not needless:
                continue
            nodes = np.concatenate(needless)
            time = trace.time_of(nodes)
            if (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            given = [call.given for call in line]
            rows = np.array([each.row for each in given])
            calls = count_text(trace, len(line), "calls", [rows])
            yield Match(
                given,
                f"{calls} of torch.autograd.grad walk the graph of one loss again",
                time,
                edits.without_ops(trace, list(trace.events(nodes)), "one call", _LEFT),
                severity=Severity.WARNING,
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        return _ONE_CALL if events[0].name == _GIVEN else self.fix


class _CallOfGrad(NamedTuple):
    """A walk that accumulates no gradient, from an output whose gradient is one, or ones.

    Attributes:
        given: the operator that makes this gradient, at the line of the call.
        loss: the step, and the node that the walk begins with.
    """

    given: Event
    loss: tuple[int, ...]
    nodes: Rows
    time_ns: int


def _calls_of_grad(trace: Trace) -> Iterator[_CallOfGrad]:
    given = launches.by_start(trace, launches.tree_rows(trace, _GIVEN))
    alike, which = np.unique(trace.inputs_id[given], return_inverse=True)
    is_known = [len(trace.inputs.shapes(each)) > 0 for each in alike.tolist()]
    given = given[np.array(is_known, bool)[which.ravel()]]
    ops = launches.by_start(trace, trace.rows_of_kind(EventKind.TorchOp))
    found = [walk for walk in walks.walks(trace) if len(walk.nodes)]
    found.sort(key=lambda walk: int(trace.start_ns[walk.nodes[0]]))
    roots = autograd.backward_ops(trace)
    roots = roots[np.isin(trace.parent[roots], [int(walk.nodes[0]) for walk in found])]
    op_of = dict(zip(trace.parent[roots].tolist(), roots.tolist(), strict=True))
    starts_of = {
        track: trace.start_ns[ops[trace.track_id[ops] == track]]
        for track in np.unique(trace.track_id[given]).tolist()
    }
    ended_ns = 0
    for walk in found:
        start_ns, op = int(trace.start_ns[walk.nodes[0]]), op_of.get(int(walk.nodes[0]), -1)
        at = int(np.searchsorted(trace.start_ns[given], start_ns)) - 1
        is_own = at >= 0 and trace.start_ns[given[at]] >= ended_ns
        is_own = is_own and not _is_changed(trace, starts_of, int(given[at]), start_ns)
        ended_ns = int(trace.end_ns[walk.nodes[-1]])
        if not is_own or op < 0 or walk.gradients or trace.sequence_nr[op] < 0:
            continue
        # Of a node with several outputs, such as unbind's, each may be another loss.
        if len(trace.inputs.shapes(int(trace.inputs_id[op]))) != 1:
            continue
        root = (int(column[op]) for column in (trace.sequence_nr, trace.forward_thread))
        (step,) = loops.step_of(trace, [start_ns]).tolist()
        time_ns = int(trace.duration_ns[walk.nodes].sum())
        yield _CallOfGrad(trace.event(int(given[at])), (step, *root), walk.nodes, time_ns)


def _is_changed(trace: Trace, starts_of: Mapping[int, Rows], given: int, until_ns: int) -> bool:
    """Tell whether an operator is called between the ones and the walk: ones may become a mask.

    Args:
        starts_of: when operators begin, ascending, by track.
    """
    starts = starts_of[int(trace.track_id[given])]
    first, last = np.searchsorted(starts, (trace.end_ns[given], until_ns))
    return bool(last > first)


def _first_walks(trace: Trace) -> Iterator[Rows]:
    """The nodes of each walk that run again later, where it accumulates gradients.

    Those of walks that make a graph for a further derivative are not among them.
    """
    again = _run_again(trace)
    is_derived = np.zeros(trace.tree_count + 1, np.int64)
    is_derived[autograd.forward_links(trace)[:, 1] + 1] = 1
    derived = np.cumsum(is_derived)
    makes_graph = derived[trace.subtree_end[again]] > derived[again + 1]
    for walk in walks.walks(trace):
        end = int(trace.subtree_end[walk.nodes[-1]])
        inside = slice(*np.searchsorted(again, (walk.nodes[0], end)))
        own = trace.track_id[again[inside]] == trace.track_id[walk.nodes[0]]
        rows = again[inside][own]
        # A checkpoint makes a graph in one node of many.
        if len(rows) and walk.gradients and makes_graph[inside][own].mean() < _FEW:
            at = np.searchsorted(walk.nodes, rows, side="right") - 1
            yield walk.nodes[np.unique(at)]


def _run_again(trace: Trace) -> Rows:
    """The operators of nodes that run again later, ascending."""
    nodes = autograd.backward_ops(trace)
    nodes = nodes[(nodes < trace.tree_count) & (trace.sequence_nr[nodes] >= 0)]
    keys = (trace.name_id[nodes], trace.sequence_nr[nodes], trace.forward_thread[nodes])
    order = np.lexsort((trace.start_ns[nodes], *keys))
    nodes = nodes[order]
    is_same = np.all([key[order][1:] == key[order][:-1] for key in keys], axis=0)
    # Of a number that begins anew, as in files put together, the forward is there, too.
    has_forward = np.isin(nodes[1:], autograd.forward_links(trace)[:, 0])
    return np.sort(nodes[:-1][is_same & ~has_forward])


def _place(node: Event, calls: Sequence[Event]) -> Location | None:
    """Where the backward is called that a node runs in, on whatever thread; else its own place."""
    at = bisect_right(calls, node.start_ns, key=attrgetter("start_ns")) - 1
    if at >= 0 and calls[at].end_ns >= node.end_ns:
        return calls[at].location
    return node.location
