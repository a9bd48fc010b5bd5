"""TDY704: gradients of parameters that no optimizer updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np

from tidy.finding import FixPlace, NotApplicable, NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Intervals, Location, Rows, Trace
from tidy.trace.made_places import parameters_of

from ..base import Match, Matches, Pattern
from ..evidence.device import launches, updates, walks
from ..evidence.device.autograd import NODE
from ..evidence.device.gradients_in_vain import InVain, gradients_in_vain
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.made_places import made_at
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..option import Option, word_share

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
# The same of what computes another gradient as well, which is still needed.
_RARE = 0.25  # of the walks that are alike
_SHARED_LEFT = (0.5, 0.7)


def _layer(number: int, *dims: object) -> str:
    """The backward of a layer, and its gradients, of these lengths, which become a parameter's."""
    node = under(f"{NODE}AddmmBackward0 > AddmmBackward0 seq={number}/1", "aten::mm 30us")
    sums = (f"{NODE}{_ACCUMULATE} > {_ACCUMULATE} | float[{each}]" for each in dims)
    return node + "".join(under(*each.rsplit(" > ", 1)) for each in sums)


def _linear(number: int) -> str:
    """The same of a layer of 5 to 6 numbers, and 8 samples: its input, its weight, its bias."""
    products = (
        "aten::mm 30us | float[8, 6], float[6, 5]",
        "aten::mm 30us | float[6, 8], float[8, 5]",
    )
    node = under(f"{NODE}AddmmBackward0 > AddmmBackward0 seq={number}/1", *products)
    gradients = (f"{NODE}{_ACCUMULATE}\n  {_ACCUMULATE} | float[{n}]" for n in ("6", "6, 5"))
    return joined(node, *gradients)


def _update(*dims: int) -> str:
    return under("Optimizer.step#SGD.step", *(f"aten::add_ | float[{n}], float[{n}]" for n in dims))


_HEAD, _BODY = _layer(9, 10, 11), _layer(8, 20, 21) + _layer(7, 22, 23)
_SAME = _layer(8, 10, 11) + _layer(7, 10, 11)
_RECOMPUTED = under(f"{NODE}CheckpointFunctionBackward", _SAME * 2)
_NOTED = "# tidy_parameters [[[10], 1], [[11], 1]]\n"
_NEARER = _linear(9) + _linear(8)
_ALL_NOTED = "# tidy_parameters [[[6], 2], [[6, 5], 2], [[10], 1]]\n"
_ONE_NOTED = _ALL_NOTED.replace("2]", "1]")
_OF_THEIR_SHAPE = " | float[6, 5], float[6, 5]"
_RESIDUAL = f"aten::add seq=30{_OF_THEIR_SHAPE}"
_THROUGH_IT = under(f"{NODE}AddBackward0 > AddBackward0 seq=30/1")
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
    the last gradient that is used is wasted. Where parameters were noted it also finds gradients
    that come before that, as of a model with trained adapters in it, or of a network that only
    judges: there the products and sums that give them are wasted, and half of a convolution's
    backward. It is info where optimizers step in some of the steps only.
    Why it costs: A backward through a frozen part of a model takes about twice as long as its
    forward pass, and all activations are kept for it. Half of that remains if a trained part lies
    before it.
    Example: An optimizer of `model.head.parameters()` with a backbone that asks for gradients,
    recorded as

        autograd::engine::evaluate_function: torch::autograd::AccumulateGrad | float[10]
        autograd::engine::evaluate_function: ConvolutionBackward0
        autograd::engine::evaluate_function: torch::autograd::AccumulateGrad | float[64, 3, 7, 7]
        Optimizer.step#Adam.step      in which no tensor has 64, 3, 7, 7

    Instead: Freeze what is not trained, `backbone.requires_grad_(False)`; run a teacher and other
    models that only give targets under `torch.no_grad()`, or detach their output.
    Cannot see: It misses frozen parts nearer to the loss than what is trained if their parameters
    have the shapes of trained ones, or those of tensors that the script computes with itself, as it
    would with their gradients: outside of modules and of what a backward goes through. It misses
    those of shapes that the script or a module updates in place, or that hooks take. Optimizers
    that keep parameters in other shapes, as sharded ones do, are not checked. In a trace that
    `tidy run` did not record it misses all that is nearer to the loss, and all of the shapes of
    trained ones, and does not know an optimizer that steps in no recorded step; lists of more than
    30 tensors, of which PyTorch records no shapes, are not checked.
    """

    code = "TDY704"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "freeze these parameters: requires_grad_(False); run a teacher under no_grad()"
    fewest_gradients = Option(4, "fewer may be inputs, whose gradients a script asks for", least=1)
    worth_a_word = word_share(0.03, "what is in vain")
    examples = (
        Fires("backbone", _trained(_HEAD, _BODY, _update(10, 11)), events=3, at=AT),
        Quiet("trained", _trained(_HEAD, _BODY, _update(10, 11, 20, 21, 22, 23))),
        Quiet("an-input", _trained(_HEAD, _layer(8, 20), _update(10, 11))),
        Quiet("nearer-and-not-noted", _trained(_BODY, _layer(6, 10, 11), _update(10, 11))),
        Abstains("nothing-that-is-updated", _trained(_BODY)),
        Quiet("single-numbers-before", _trained(_HEAD, _layer(8, *[""] * 4), _update(10, 11))),
        Abstains(
            "of-several-ranks", _trained(_HEAD, _BODY, _update(10, 11) + "  c10d::broadcast_")
        ),
        Abstains("other-shapes", _trained(_HEAD, _BODY, _update(107))),
        Fires("of-the-same-shapes", _NOTED + _trained(_called(_HEAD, _SAME), _LISTS), 3, AT),
        Quiet("of-two-losses", _NOTED + _trained(_called(_HEAD), _called(_SAME), _LISTS)),
        Quiet("of-a-checkpoint", _NOTED + _trained(_called(_HEAD, _RECOMPUTED), _LISTS)),
        Fires("nearer-to-the-loss", _NOTED + _trained(_NEARER, _layer(7, 10, 11), _LISTS), 3, AT),
        Fires(
            "residuals-of-their-shapes",
            _NOTED + _trained(_RESIDUAL, _THROUGH_IT, _NEARER, _layer(7, 10, 11), _LISTS),
            events=3,
            at=AT,
        ),
        Fires(
            "in-a-module-without-gradients",
            _NOTED
            + _trained(
                under("nn.Module: Teacher_0", f"aten::add{_OF_THEIR_SHAPE}"),
                *(_NEARER, _layer(7, 10, 11), _LISTS),
            ),
            events=3,
            at=AT,
        ),
        Quiet(
            "the-script-computes-with-them",
            _NOTED + _trained(_NEARER, _layer(7, 10, 11), f"aten::add{_OF_THEIR_SHAPE}", _LISTS),
        ),
        Quiet("of-trained-shapes", _ONE_NOTED + _trained(_NEARER, _layer(7, 10), _LISTS)),
        Quiet("trained-too", _ALL_NOTED + _trained(_NEARER, _layer(7, 10), _LISTS)),
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
        found = _with_places(trace, list(gradients_in_vain(trace, self.fewest_gradients)))
        for same in places.parts(found, itemgetter(1), lambda each: _first(trace, each[0])):
            time, edit = _without(trace, [each for each, _ in same])
            if (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            count = max(each.gradients for each, _ in same)
            yield Match(
                [_first(trace, each) for each, _ in same],
                f"{count} gradients are computed for parameters that no optimizer updates",
                time,
                edit,
                severity,
                at_most=severity,
                location=same[0][1],
                fix_place=_made_at(trace),
            )


def _with_places(trace: Trace, found: Sequence[InVain]) -> list[tuple[InVain, Location | None]]:
    """Each with the place where its forward is called; a rare one is that of others alike.

    In a recording of a crowded machine a call may have another line now and then.
    """
    called = [_called_at(trace, each.nodes) for each in found]
    alike: dict[tuple[int, Location | None], Counter[Location | None]] = {}
    kinds = [(each.gradients, _own_place(trace, each.nodes)) for each in found]
    for kind, place in zip(kinds, called, strict=True):
        alike.setdefault(kind, Counter())[place] += 1
    return [
        (each, _usual(alike[kind], place))
        for each, kind, place in zip(found, kinds, called, strict=True)
    ]


def _usual(places: Counter[Location | None], place: Location | None) -> Location | None:
    """The place, or where it is rare the one that most have."""
    if places[place] >= _RARE * places.total():
        return place
    return max(places, key=places.__getitem__)


def _without(trace: Trace, found: Sequence[InVain]) -> tuple[Intervals, Edit]:
    """The time that is in vain, and the run without it: half of what computes two gradients."""
    alone = np.concatenate([each.rows for each in found])
    shared = np.concatenate([each.convolutions for each in found])
    middle = trace.start_ns[shared] + trace.duration_ns[shared] // 2
    halves = Intervals(middle, trace.end_ns[shared])
    time = trace.time_of(alone) | halves
    events = list(trace.events(np.append(alone, shared).tolist()))
    edit = edits.without_ops(trace, events, "not computed", _LEFT)
    if not len(shared):
        return time, edit
    of_shared = edits.work_of(trace, trace.events(shared.tolist()))
    work_ns = max(int(trace.duration_ns[np.asarray(edit.work, np.int64)].sum()), 1)
    work_part = int(trace.duration_ns[of_shared].sum()) / work_ns
    part, (least, most) = halves.total_ns / max(time.total_ns, 1), _SHARED_LEFT
    return time, replace(
        edit,
        host={track: own & time for track, own in edit.host.items()},
        left=(0.0, _LEFT[1] + (2 * most - 1) * part),  # of halves
        work_left=(least * work_part, _LEFT[1] + most * work_part),
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


def _first(trace: Trace, found: InVain) -> Event:
    return trace.event(int(found.nodes[0]))


def _own_place(trace: Trace, nodes: Rows) -> Location | None:
    """Where the first of these was computed in the forward, as far as that is known."""
    forward = (_forward_of(trace, row) for row in nodes.tolist())
    return trace.location(next((row for row in forward if row is not None), int(nodes[0])))


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
