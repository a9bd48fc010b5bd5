"""TDY704: gradients of parameters that no optimizer updates."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter

import numpy as np

from tidy.finding import FixPlace, NotApplicable, NotChecked, Obstacle, Severity
from tidy.trace import Capability, Event, Location, Rows, Trace
from tidy.trace.made_places import parameters_of

from ..base import Match, Matches, Pattern
from ..evidence.device import launches, updates, walks
from ..evidence.device.autograd import NODE
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.made_places import made_at
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import WORTH_A_WARNING, Option, word_share

_ACCUMULATE = walks.ACCUMULATE
_MOST = 0.5  # of the parameters that are noted
_OF_RANKS = ("c10d::*", "nccl:*", "gloo:*")
_NO_OPS = NotChecked(
    "some steps of optimizers hold no operator that tells what they update",
    "record some steps with an optimizer that is neither compiled nor in a CUDA graph",
)
_NO_SHAPES = NotChecked(
    "some shapes that optimizers work on are missing: PyTorch records none of long lists",
    "record some steps with foreach=False",
)
# What is taken out of a backward goes, but for what the engine still visits.
_LEFT = (0.0, 0.05)


def _layer(number: int, *dims: object) -> str:
    """The backward of a layer, and its gradients, of these lengths, which become a parameter's."""
    node = under(f"{NODE}AddmmBackward0 > AddmmBackward0 seq={number}/1", "aten::mm 30us")
    sums = (f"{NODE}{_ACCUMULATE} > {_ACCUMULATE} | float[{each}]" for each in dims)
    return node + "".join(under(*each.rsplit(" > ", 1)) for each in sums)


def _update(*dims: int) -> str:
    return under("Optimizer.step#SGD.step", *(f"aten::add_ | float[{n}], float[{n}]" for n in dims))


_HEAD, _BODY = _layer(9, 10, 11), _layer(8, 20, 21) + _layer(7, 22, 23)
_SAME = _layer(8, 10, 11) + _layer(7, 10, 11)
_RECOMPUTED = under(f"{NODE}CheckpointFunctionBackward", _SAME * 2)
_NOTED = "# tidy_parameters [[[10], 1], [[11], 1]]\n"
_LISTS = under("Optimizer.step#SGD.step", "aten::_foreach_add_ | TensorList[]")


def _called(*parts: str) -> str:
    return under("torch/_tensor.py(600): backward", *parts)


def _trained(*parts: str) -> str:
    return steps(under(FRAME, *parts))


class UnusedGradients(Pattern):
    """A backward computes gradients of parameters that no optimizer updates.

    What it does: It compares the shapes of gradients with those of the tensors that are updated in
    the recorded steps; `tidy run` notes how many parameters of each shape have an optimizer. If a
    backward ends with four or more gradients that no optimizer works on, everything it runs after
    the last gradient that is used is wasted. It is info where optimizers step in some of the steps
    only.
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
    Cannot see: It misses frozen parts nearer to the loss than what is trained. Optimizers that keep
    parameters in other shapes, as sharded ones do, are not checked. In a trace that `tidy run` did
    not record it misses frozen parts whose parameters have the shapes of trained ones, and does not
    know an optimizer that steps in no recorded step; lists of more than 30 tensors, of which
    PyTorch records no shapes, are not checked.
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
        Fires("of-the-same-shapes", _NOTED + _trained(_called(_HEAD, _SAME), _LISTS), 3, AT),
        Quiet("of-two-losses", _NOTED + _trained(_called(_HEAD), _called(_SAME), _LISTS)),
        Quiet("of-a-checkpoint", _NOTED + _trained(_called(_HEAD, _RECOMPUTED), _LISTS)),
        Fires("long-lists", _NOTED + _trained(_HEAD, _BODY, _LISTS), 3, AT),
        Quiet("all-are-noted", _NOTED.replace("1]", "3]") + _trained(_HEAD, _SAME, _LISTS)),
        Abstains("long-lists-alone", _trained(_HEAD, _BODY, _LISTS)),
        Abstains("no-optimizer", _HEAD),
        Abstains("no-shapes", "aten::mm"),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(launches.tree_rows(trace, updates.STEP)):
            return NotApplicable("no step of an optimizer was recorded")
        updated, known = updates.updated_tensors(trace), parameters_of(trace)
        if known is None and (updated.empty_steps or updated.has_cut_lists):
            return _NO_OPS if updated.empty_steps else _NO_SHAPES
        if known is None and not updated.by_optimizers:
            return NotApplicable("no shapes of what optimizers work on were recorded")
        # Of parameters that are noted some may be in no loss.
        counts, least = (Counter(updated.by_optimizers), 1) if known is None else (known, _MOST)
        accumulated = {dims for walk in walks.walks(trace) for _, dims in walk.gradients}
        there = sum(count for dims, count in counts.items() if dims in accumulated)
        if accumulated - {None} and there < least * counts.total():
            return NotApplicable("optimizers work on tensors of other shapes than gradients have")
        of_ranks = launches.tree_rows(trace, *_OF_RANKS)
        if updates.optimizing(trace).contains(trace.start_ns[of_ranks]).any():
            return NotApplicable("each rank updates a part of the parameters")
        return None

    def find(self, trace: Trace) -> Matches:
        severity = Severity.WARNING if _steps_alike(trace) else Severity.INFO
        found = [
            (walk, _called_at(trace, walk.nodes))
            for walk in updates.unused_walks(trace, self.fewest_gradients)
        ]
        for same in places.parts(found, itemgetter(1), lambda each: _first(trace, each[0])):
            nodes = np.concatenate([walk.nodes for walk, _ in same])
            if (trace.step_share(trace.time_of(nodes)) or 0.0) < self.worth_a_word:
                continue
            count = max(walk.gradients for walk, _ in same)
            yield Match(
                [_first(trace, walk) for walk, _ in same],
                f"{count} gradients are computed for parameters that no optimizer updates",
                nodes.tolist(),
                edits.without_ops(trace, list(trace.events(nodes.tolist())), "not computed", _LEFT),
                severity,
                at_most=severity,
                location=same[0][1],
                fix_place=_made_at(trace),
            )


def _made_at(trace: Trace) -> FixPlace | None:
    """Where the optimizer is made that updates the rest, if there is one."""
    rows = launches.tree_rows(trace, updates.STEP)
    made = {made_at(trace, "optimizer", trace.location(row)) for row in rows.tolist()}
    return made.pop() if len(made) == 1 else None


def _steps_alike(trace: Trace) -> bool:
    """Tell whether optimizers step equally often in each step, so that none was left out."""
    starts = trace.start_ns[launches.tree_rows(trace, updates.STEP)]
    return len(set(loops.steps_with(trace, starts, 1).values())) == 1


def _first(trace: Trace, walk: updates.UnusedWalk) -> Event:
    return trace.event(int(walk.nodes[0]))


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
