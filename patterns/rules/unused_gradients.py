"""TDY704: gradients of parameters that no optimizer updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.account import closures
from tidy.finding import NotApplicable, Obstacle
from tidy.trace import Capability, Event, Intervals, Location, Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, launches
from ..evidence.fixes import edits
from ..evidence.python import places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import WORTH_A_WARNING, Option, word_share

_Dims = tuple[int, ...]
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_NODE = "autograd::engine::evaluate_function: "
_STEP = "Optimizer.step#*"
_OF_RANKS = ("c10d::*", "nccl:*", "gloo:*")
# What is taken out of a backward goes, but for what the engine still visits.
_LEFT = (0.0, 0.05)


def _layer(number: int, *dims: object) -> str:
    """The backward of a layer, and its gradients, of these lengths, which become a parameter's."""
    node = under(f"{_NODE}AddmmBackward0 > AddmmBackward0 seq={number}/1", "aten::mm 30us")
    sums = (f"{_NODE}{_ACCUMULATE} > {_ACCUMULATE} | float[{each}]" for each in dims)
    return node + "".join(under(*each.rsplit(" > ", 1)) for each in sums)


def _update(*dims: int) -> str:
    return under("Optimizer.step#SGD.step", *(f"aten::add_ | float[{n}], float[{n}]" for n in dims))


_HEAD, _BODY = _layer(9, 10, 11), _layer(8, 20, 21) + _layer(7, 22, 23)


def _trained(*parts: str) -> str:
    return steps(under(FRAME, *parts))


class UnusedGradients(Pattern):
    """A backward computes gradients of parameters that no optimizer updates.

    What it does: It compares the shapes of gradients with those of the tensors that optimizers
    work on in the recorded steps. Where four gradients or more of a backward have shapes that no
    optimizer knows, and come after the last that one does, all that runs after that is in vain.
    Why it costs: A backward through a frozen part of a model takes about twice as long as its
    forward pass, and all activations are kept for it.
    Example: An optimizer of `model.head.parameters()` with a backbone that asks for gradients,
    recorded as

        autograd::engine::evaluate_function: torch::autograd::AccumulateGrad | float[10]
        autograd::engine::evaluate_function: ConvolutionBackward0
        autograd::engine::evaluate_function: torch::autograd::AccumulateGrad | float[64, 3, 7, 7]
        Optimizer.step#Adam.step      in which no tensor has 64, 3, 7, 7

    Instead: Freeze what is not trained, `backbone.requires_grad_(False)`; run a teacher and other
    models that only give targets under `torch.no_grad()`, or detach their output.
    Cannot see: It misses frozen parts whose parameters have the shapes of trained ones, and those
    nearer to the loss than what is trained. Optimizers that keep parameters in other shapes, as
    sharded ones do, are not checked.
    """

    code = "TDY704"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "freeze it, requires_grad_(False), or run it under torch.no_grad()"
    fewest_gradients = Option(4, "fewer may be inputs, whose gradients a script asks for", least=1)
    worth_a_word = word_share(WORTH_A_WARNING, "what is in vain")
    examples = (
        Fires("backbone", _trained(_HEAD, _BODY, _update(10, 11)), events=3, at=AT),
        Quiet("trained", _trained(_HEAD, _BODY, _update(10, 11, 20, 21, 22, 23))),
        Quiet("an-input", _trained(_HEAD, _layer(8, 20), _update(10, 11))),
        Quiet("nearer-to-the-loss", _trained(_BODY, _layer(6, 10, 11), _update(10, 11))),
        Abstains("nothing-that-is-updated", _trained(_BODY)),
        Quiet("single-numbers-before", _trained(_HEAD, _layer(8, *[""] * 4), _update(10, 11))),
        Abstains(
            "of-several-ranks", _trained(_HEAD, _BODY, _update(10, 11) + "  c10d::broadcast_")
        ),
        Abstains("other-shapes", _trained(_HEAD, _BODY, _update(107))),
        Abstains("no-optimizer", _HEAD),
        Abstains("no-shapes", "aten::mm"),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(launches.tree_rows(trace, _STEP)):
            return NotApplicable("no step of an optimizer was recorded")
        gradients = {dims for _, dims in _gradients(trace)}
        if gradients and not _updated(trace) <= gradients:
            return NotApplicable("optimizers work on tensors of other shapes than gradients have")
        if _optimizing(trace).contains(trace.start_ns[launches.tree_rows(trace, *_OF_RANKS)]).any():
            return NotApplicable("each rank updates a part of the parameters")
        return None

    def find(self, trace: Trace) -> Matches:
        walks = list(_in_vain(trace, self.fewest_gradients))
        for same in places.parts(walks, lambda walk: walk.location, lambda walk: walk.first):
            time = trace.time_of(np.concatenate([walk.nodes for walk in same]))
            if (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            rows = np.concatenate([walk.nodes for walk in same]).tolist()
            count = max(walk.gradients for walk in same)
            yield Match(
                [walk.first for walk in same],
                f"{count} gradients are computed of what no optimizer updates",
                rows,
                edits.without_ops(trace, list(trace.events(rows)), "not computed", _LEFT),
                location=same[0].location,
            )


@dataclass(frozen=True, slots=True)
class _UnusedWalk:
    """What a backward does after the last gradient that is used.

    Attributes:
        nodes: what the engine runs, by start.
        gradients: how many are accumulated.
        location: where what has these gradients is called.
    """

    trace: Trace
    nodes: Rows
    gradients: int
    location: Location | None

    @property
    def first(self) -> Event:
        return self.trace.event(int(self.nodes[0]))


def _gradients(trace: Trace) -> Iterator[tuple[int, _Dims]]:
    """Each gradient that is accumulated: its row, and its dims."""
    rows = launches.tree_rows(trace, _ACCUMULATE)
    known = {
        each: _dims_of_first(trace, each) for each in np.unique(trace.inputs_id[rows]).tolist()
    }
    for row, inputs in zip(rows.tolist(), trace.inputs_id[rows].tolist(), strict=True):
        for dims in known[inputs]:
            yield row, dims


@kept
def _optimizing(trace: Trace) -> Intervals:
    return trace.time_of(launches.tree_rows(trace, _STEP)) - closures(trace)


def _updated(trace: Trace) -> set[_Dims]:
    """The dims of what optimizers work on, but for single numbers."""
    optimizing = _optimizing(trace)
    tracks = np.flatnonzero(np.bincount(trace.track_id[: trace.tree_count])).tolist()
    ops = np.concatenate([launches.ops_in_no_op(trace, track) for track in tracks])
    ops = ops[optimizing.contains(trace.start_ns[ops])]
    inputs = np.unique(trace.inputs_id[ops]).tolist()
    return {dims for each in inputs for dims in _dims_of_first(trace, each) if dims}


def _dims_of_first(trace: Trace, inputs: int) -> list[_Dims]:
    """The dims of the first input, or of each tensor where it is a list."""
    first = (trace.inputs.shapes(inputs) or ((),))[0]
    return [tuple(first)] if is_dims(first) else [tuple(each) for each in first if is_dims(each)]


def _in_vain(trace: Trace, fewest: int) -> Iterator[_UnusedWalk]:
    """What follows the last gradient in use, in each backward with so many others after it."""
    updated = _updated(trace)
    dims_at = {int(trace.parent[row]): dims for row, dims in _gradients(trace)}
    rows = launches.outermost_rows(trace, launches.tree_rows(trace, f"{_NODE}*"))
    for track in np.flatnonzero(np.bincount(trace.track_id[rows])).tolist():
        own = rows[trace.track_id[rows] == track]
        for nodes in np.split(own, _begins(trace, own)):
            dims = [dims_at.get(node) for node in nodes.tolist()]
            # A single number may be a parameter; optimizers have single numbers of their own.
            used = [at for at, each in enumerate(dims) if each == () or each in updated]
            after = used[-1] + 1 if used else len(dims)
            count = sum(each is not None for each in dims[after:])
            if count >= fewest:
                rest = nodes[after:]
                yield _UnusedWalk(trace, rest, count, _called_at(trace, rest))


def _begins(trace: Trace, nodes: Rows) -> Rows:
    """Where a walk begins: the engine takes the newest node first, so numbers fall in each."""
    numbers = _numbers(trace)[nodes]
    known = np.flatnonzero(numbers >= 0)
    rises = known[1:][np.diff(numbers[known]) > 0]
    begins: Rows = rises
    return begins


@kept
def _numbers(trace: Trace) -> NDArray[np.int64]:
    """For each row of a node of the engine its sequence number; -1 for others, and none."""
    numbers = np.full(len(trace), -1, np.int64)
    ops = autograd.backward_ops(trace)
    ops = ops[(trace.parent[ops] >= 0) & (trace.sequence_nr[ops] >= 0)]
    numbers[trace.parent[ops]] = trace.sequence_nr[ops]
    return numbers


def _called_at(trace: Trace, nodes: Rows) -> Location | None:
    """Where the innermost module is called that ran the forward of all these, if one did."""
    forward = [at for row in nodes.tolist() if (at := _forward_of(trace, row)) is not None]
    if not forward:
        return trace.location(int(nodes[0]))
    own = trace.location(forward[0])
    around_last = {each.row for each in trace.event(forward[-1]).ancestors()}
    for above in trace.event(forward[0]).ancestors():
        if above.row in around_last and above.name.startswith("nn.Module: "):
            called = above.location
            return called if called is not None and called.is_call_line else own
    return own


def _forward_of(trace: Trace, node: int) -> int | None:
    """The op whose backward a node of the engine is."""
    inside = range(node, min(node + 2, int(trace.subtree_end[node])))
    return next((trace.forward[row] for row in inside if row in trace.forward), None)
