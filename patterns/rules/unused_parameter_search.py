"""TDY907: DistributedDataParallel walks the graph in each forward, for parameters left out."""

from __future__ import annotations

import numpy as np

from tidy.finding import Obstacle
from tidy.trace import Event, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import collectives, launches
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.made_places import module_made_at
from ..examples import AT, Abstains, Fires, Quiet, looped, on_gpu, steps, under

_SAID = "the graph is searched for unused parameters in each forward, and all are used"
_SEARCH = "torch.distributed.ddp.reducer::search_unused_parameters"

_FORWARD = under(f"{collectives.DDP_FORWARD} 90us", "aten::linear", f"{_SEARCH} 30us")
_ARRIVES = under(f"{collectives.HOOKS} > torch.distributed.ddp.reducer::mul_out")
_ABSENT = under(collectives.HOOKS, "aten::zero_")


class UnusedParameterSearch(Pattern):
    """DistributedDataParallel walks the whole graph in each forward, and all parameters are used.

    What it does: It finds the search that `find_unused_parameters=True` makes at the end of each
    forward pass, in two steps or more, unless a backward fills the gradient of an unused parameter
    with zeros.
    Why it costs: The search visits each node of the graph before the backward can begin, and a
    further all-reduce tells the ranks of what each of them used.
    Example: `DistributedDataParallel(model, find_unused_parameters=True)`, recorded as

        DistributedDataParallel.forward
          aten::linear  ...
          torch.distributed.ddp.reducer::search_unused_parameters
        NOT aten::zero_           in a hook of AccumulateGrad: all gradients come

    Instead: Leave `find_unused_parameters` at its default, False. Where parts of the model are left
    out, but always the same, `static_graph=True` searches once.
    Cannot see: Steps that were not recorded: another branch of the model may be taken there. Then
    DistributedDataParallel says so with an error.
    """

    code = "TDY907"
    fix = "leave find_unused_parameters at False, or pass static_graph=True"
    examples = (
        Fires("all-used", looped(_FORWARD, _ARRIVES, lasts_us=200), events=2, at=AT),
        Quiet("some-unused", on_gpu(steps(_FORWARD, _ABSENT, _ARRIVES, count=2))),
        Quiet("once", on_gpu(steps(_FORWARD, _ARRIVES, count=1))),
        Quiet("not-searched", on_gpu(steps(under(f"{collectives.DDP_FORWARD} 9us"), _ARRIVES))),
        Abstains("no-ddp", on_gpu(steps("aten::linear"))),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return collectives.without_ddp(trace)

    def find(self, trace: Trace) -> Matches:
        searches = trace.named(_SEARCH)
        repeats = any(loops.Loop(trace).repeated([each.start_ns for each in searches]))
        for events in places.by_line(searches) if repeats and not _are_some_unused(trace) else ():
            # Neither the search nor the all-reduce of what each rank used.
            ops = [*events, *_reduced_marks(trace)]
            edit = edits.without_ops(trace, ops, "no search", (0.0, 0.0))
            yield Match(events, _SAID, edit=edit, fix_place=module_made_at(trace, events))


def _are_some_unused(trace: Trace) -> bool:
    """Tell whether DDP fills the place of a gradient that does not come: with zeros, in a hook."""
    hooks = launches.below(trace, launches.tree_rows(trace, collectives.HOOKS))
    zeros = launches.tree_rows(trace, "aten::zero_")
    above = trace.parent[zeros[hooks.contains(zeros)]]
    makes_new = trace.rows_named("aten::zeros", "aten::zeros_like", "aten::new_zeros")
    return bool(np.count_nonzero(~np.isin(above, makes_new)))


def _reduced_marks(trace: Trace) -> list[Event]:
    """The all-reduces of which parameters each rank used: those of integers."""
    marks = [
        op
        for op in trace.events(collectives.all_reduces(trace))
        if any("int" in each.input_dtypes[:1] for each in (op, *op.descendants()))
    ]
    return launches.outermost(marks)
