"""TDY702: ops record gradients that no backward uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tidy.finding import Finding, Severity
from tidy.trace import Capability, Event, EventKind, Trace

from ..base import Pattern
from ..evidence import launches, places, timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, under
from ..option import Option


def _forward(first: int = 1, count: int = 12) -> str:
    return "".join(f"aten::linear seq={first + n}\n" for n in range(count))


_TRAINED = _forward() + "".join(f"AddmmBackward0 seq={n}/1\n" for n in range(12, 0, -1))
_STEPS = (f"ProfilerStep#{n} 90us" for n in range(1, 4))


class GradientsInEvaluation(Pattern):
    """Ops record what a backward would need, and there is no backward.

    What it does: It finds steps in which ten nodes of the autograd graph or more are made (the
    sequence numbers of ops count them) and of which no backward runs, neither in the step nor
    later; without steps, such runs. The last step is left out where others have a backward, as the
    recording may have ended before its own.
    Why it costs: Tensors that a backward would need are kept for as long as the result is, and each
    op takes a little longer. With no gradients asked for, larger batches fit.
    Example: A validation without `torch.no_grad()`, recorded as

        aten::linear    Sequence number 41
        aten::relu      Sequence number 42      and so on
        NOT any backward of these numbers

    Instead: Evaluate under `torch.inference_mode()` (or `torch.no_grad()`); `model.eval()` does not
    switch gradients off.
    Cannot see: It cannot tell an evaluation from a training step of which only the forward pass was
    recorded. That is why it is info.
    """

    code = "TDY702"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS})
    fix = "evaluate under torch.inference_mode(); model.eval() keeps recording gradients"
    why_no_edit = "it saves memory more than time"
    fewest_nodes = Option(
        10,
        "every op of a model makes a node; as many as this are made beside it, for an input"
        " that is prepared",
    )
    examples = (
        Fires("a-run", under(FRAME, _forward()), at=AT),
        Fires(
            "validation-step",
            under(
                FRAME,
                under("ProfilerStep#1 90us", _TRAINED),
                under("ProfilerStep#2 90us", _forward(13)),
                under("ProfilerStep#3 90us", "aten::mm"),
            ),
            at=AT,
        ),
        Quiet("training", under(FRAME, *(under(step, _TRAINED) for step in _STEPS))),
        Quiet("no-gradients", under(FRAME, "aten::linear\n" * 12)),
        Quiet("nothing-needs-them", under(FRAME, "aten::linear seq=4\n" * 12)),
        Quiet("few-ops", under(FRAME, _forward(count=5))),
        Quiet(
            "backward-in-a-later-step",
            under(FRAME, under("ProfilerStep#1", _forward()), under("ProfilerStep#2", _TRAINED)),
        ),
        Quiet(
            "cut-off-before-its-backward",
            under(
                FRAME,
                under("ProfilerStep#1 90us", _TRAINED),
                under("ProfilerStep#2 90us", _forward(13)),
            ),
        ),
        Abstains("no-ops", FRAME),
    )

    def check(self, trace: Trace) -> Iterable[Finding]:
        events = list(_without_backward(trace, self.fewest_nodes))
        for same in places.grouped(events, lambda event: event.location):
            yield self.report(
                trace,
                same,
                message="ops record gradients, and no backward uses them"
                f"{places.within_range(same)}",
                cost=timing.Cost(trace.time_of([]), matters=False),
            )


def _without_backward(trace: Trace, fewest_nodes: int) -> Iterator[Event]:
    """The first op that makes a node, of each step (or of the run) whose nodes nobody uses."""
    tree = trace.tree_count
    is_op = trace.kind[:tree] == EventKind.TorchOp
    is_backward = is_op & (trace.forward_thread[:tree] > 0)
    is_backward |= np.isin(
        np.arange(tree), trace.rows_named("autograd::engine::evaluate_function*")
    )
    forward = np.flatnonzero(is_op & ~is_backward & (trace.sequence_nr[:tree] >= 0))
    backward = np.flatnonzero(is_backward)
    steps = trace.window.steps
    if not len(backward):
        spans = [(step.start_ns, step.end_ns) for step in steps]
        spans = spans or [(trace.start_ns_first, trace.start_ns_first + trace.span_ns + 1)]
    else:
        last_ns = max((step.end_ns for step in (*trace.steps, *steps)), default=0)
        spans = [(step.start_ns, step.end_ns) for step in steps if step.end_ns < last_ns]
    # What runs later than a step and has one of its numbers is the backward of its nodes.
    used = np.unique(trace.sequence_nr[backward])
    busy_ns = np.sort(trace.start_ns[backward])
    by_start = launches.by_start(trace, forward)
    starts, numbers = trace.start_ns[by_start], trace.sequence_nr[by_start]
    for start_ns, end_ns in spans:
        first, last = np.searchsorted(starts, (start_ns, end_ns))
        in_it = np.searchsorted(busy_ns, end_ns) > np.searchsorted(busy_ns, start_ns)
        made = np.unique(numbers[first:last])
        used_later = np.searchsorted(used, made, "right") > np.searchsorted(used, made)
        if len(made) > fewest_nodes and not in_it and not used_later.any():
            yield trace.event(int(by_start[first]))
