"""TDY703: a backward that walks a graph which an earlier one walked already."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from tidy.finding import Severity
from tidy.trace import Event, Location, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, launches
from ..evidence.python import frames, loops, places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, Option, word_share

# A checkpoint calls the engine within a node of it, and so on: no deeper than this.
_NESTED = 8
_NODE = "autograd::engine::evaluate_function: "


def _forward(count: int = 12) -> str:
    return "".join(f"aten::linear 9us seq={n}\n" for n in range(1, count + 1))


def _backward(line: int = 7, count: int = 12, inside: str = "aten::mm 9us") -> str:
    nodes = (
        under(f"{_NODE}AddmmBackward0 > AddmmBackward0 seq={n}/1", inside)
        for n in range(count, 0, -1)
    )
    return under(f"train.py({line}): train > torch/_tensor.py(600): backward", *nodes)


class RepeatedBackward(Pattern):
    """A backward walks a graph again, which an earlier backward walked already.

    What it does: It finds ten nodes of the autograd graph or more (the sequence numbers of their
    operators tell them apart) that run a second time, and 5 % of the steps or more in their first
    runs. A first run that makes a graph itself (`create_graph=True`) is not counted: a derivative
    of it is asked for.
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
        Fires("two-losses", steps(_forward() + _backward() + _backward(9)), at=AT),
        Fires("a-state-of-steps-before", _forward() + steps(_backward()), at=AT),
        Quiet("once", steps(_forward() + _backward())),
        Quiet("the-end-alone", steps(_forward() + _backward(count=5) + _backward(9))),
        Quiet(
            "a-derivative-of-it",
            steps(_forward() + _backward(inside="aten::mm 9us seq=50") + _backward(9)),
        ),
        Quiet("little", steps(_backward() * 2, "aten::mm 90000us", lasts_us=None)),
        Abstains("no-ops", FRAME),
    )

    def find(self, trace: Trace) -> Matches:
        called = _calls(trace)
        nodes = list(trace.events(_first_walks(trace)))
        for same in places.parts(nodes, lambda node: _place(node, called)):
            around = [node.row if node.parent is None else node.parent.row for node in same]
            time = trace.time_of(np.array(around))
            starts = [node.start_ns for node in same]
            in_steps = loops.steps_with(trace, starts, self.fewest_nodes)
            is_many = bool(in_steps) if trace.steps else len(same) >= self.fewest_nodes
            if is_many and (trace.step_share(time) or 0.0) >= self.worth_a_word:
                what = f"a later backward walks {len(same)} nodes of the graph again"
                yield Match(same[:1], what, time, location=_place(same[0], called))


def _first_walks(trace: Trace) -> Rows:
    """Nodes of a backward that run again later, and make no graph for a further derivative."""
    nodes = autograd.backward_ops(trace)
    nodes = nodes[(nodes < trace.tree_count) & (trace.sequence_nr[nodes] >= 0)]
    keys = (trace.name_id[nodes], trace.sequence_nr[nodes], trace.forward_thread[nodes])
    order = np.lexsort((trace.start_ns[nodes], *keys))
    nodes = nodes[order]
    is_same = np.all([key[order][1:] == key[order][:-1] for key in keys], axis=0)
    # Of a number that begins anew, as in files put together, the forward is there, too.
    has_forward = np.isin(nodes[1:], autograd.forward_links(trace)[:, 0])
    first = nodes[:-1][is_same & ~has_forward]
    in_graph = np.append(0, np.cumsum(trace.sequence_nr[: trace.tree_count] >= 0))
    makes_none = in_graph[trace.subtree_end[first]] == in_graph[first + 1]
    return launches.by_start(trace, first[makes_none])


def _calls(trace: Trace) -> list[Event]:
    """The calls of the engine, by start."""
    rows = launches.rows_matching(trace, frames.RUNS_BACKWARD, "*backward*", "*grad*")
    return list(trace.events(launches.by_start(trace, rows)))


def _place(node: Event, calls: Sequence[Event]) -> Location | None:
    """Where the backward is called that a node runs in, on whatever thread; else its own place."""
    at = bisect_right(calls, node.start_ns, key=attrgetter("start_ns"))
    around = (call for call in calls[max(at - _NESTED, 0) : at] if call.end_ns >= node.end_ns)
    return next((call.location for call in around), node.location)
