"""TDY703: a backward that walks a graph which an earlier one walked already."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

import numpy as np

from tidy.finding import Severity
from tidy.trace import Event, Location, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, walks
from ..evidence.device.autograd import NODE
from ..evidence.python import loops, places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, Option, word_share

_FEW = 0.2


def _forward(count: int = 12) -> str:
    return "".join(f"aten::linear 9us seq={n}\n" for n in range(1, count + 1))


def _backward(
    line: int = 7, count: int = 12, inside: str = "aten::mm 9us", accumulates: bool = True
) -> str:
    nodes = (
        under(f"{NODE}AddmmBackward0 > AddmmBackward0 seq={n}/1", inside.format(n + 50))
        for n in range(count, 0, -1)
    )
    gradient = under(f"{NODE}{walks.ACCUMULATE}", walks.ACCUMULATE)
    above = f"train.py({line}): train > torch/_tensor.py(600): backward"
    return under(above, *nodes, *([gradient] if accumulates else ()))


_DERIVED = "aten::mm 9us seq={}"
_OF_IT = "".join(
    under(f"{NODE}MmBackward0 > MmBackward0 seq={n + 50}/1", "aten::mm") for n in range(12, 0, -1)
)


class RepeatedBackward(Pattern):
    """A backward walks a graph again, which an earlier backward walked already.

    What it does: It finds six or more nodes of the autograd graph that run a second time, known by
    their operators' sequence numbers, whose first runs take 5 % of the steps. First runs that make
    a graph themselves (`create_graph=True`) do not count, as a derivative of them is asked for, nor
    do those that accumulate no gradient, as of `torch.autograd.grad`.
    Why it costs: Each walk computes all gradients of what it passes. `retain_graph=True`, which a
    second walk needs, also keeps all activations. Where a state is carried from step to step, each
    backward walks all the steps before, and a step takes longer than the one before.
    Example: `first.backward(retain_graph=True)` and then `second.backward()`, recorded as

        AddmmBackward0    Sequence number 41, Fwd thread id 1
        AddmmBackward0    Sequence number 41, Fwd thread id 1      and so on

    Instead: Add the losses and call `backward()` once. Detach what a loss shall not reach: a
    generator's images for the discriminator, a recurrent state between steps.
    Cannot see: Whether the gradients of each loss are needed on their own, as methods do that weigh
    tasks by them. That is why it is info.
    """

    code = "TDY703"
    severity = Severity.INFO
    fix = "call backward() once, on the sum of losses; detach() what a loss shall not reach"
    why_no_edit = "the trace does not tell which gradients are needed on their own"
    fewest_nodes = Option(6, "fewer nodes are the end of a loss, which several losses share")
    worth_a_word = word_share(LARGE_INFO, "first walks")
    examples = (
        Fires("two-losses", steps(_forward() + _backward() + _backward(9)), 3, AT),
        Fires("a-state-of-steps-before", _forward() + steps(_backward()), 2, AT),
        Quiet("once", steps(_forward() + _backward())),
        Quiet("the-end-alone", steps(_forward() + _backward(count=5) + _backward(9))),
        Quiet(
            "a-derivative-of-it",
            steps(_forward() + _backward(inside=_DERIVED) + _backward(9) + _OF_IT),
        ),
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
