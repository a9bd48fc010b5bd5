"""TDY702: ops record gradients that no backward uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Severity
from tidy.trace import Event, Location, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd
from ..evidence.python import places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, under
from ..option import Option

_BESIDE = 512  # ops before and after in which those of other rounds are looked for


def _forward(first: int = 1, count: int = 12) -> str:
    return "".join(f"aten::linear seq={first + n}\n" for n in range(count))


def _steps(*parts: str) -> str:
    each = (under(f"ProfilerStep#{number} 90us", part) for number, part in enumerate(parts))
    return under(FRAME, *each)


_ANEW = under("autograd::engine::evaluate_function: CheckpointBackward", _forward(13))
_LATER = "".join(f"AddmmBackward0 seq={n}/1\n" for n in range(44, 32, -1))
_TRAINED = _forward() + "".join(f"AddmmBackward0 seq={n}/1\n" for n in range(12, 0, -1))


class GradientsInEvaluation(Pattern):
    """Ops record what a backward would need, and there is no backward.

    What it does: It finds ten nodes of the autograd graph or more that are made one after the other
    (the sequence numbers of ops count them) and of which no backward runs, neither in the step nor
    later: in a step of their own, beside training in one, or in a run without steps. The last step,
    or what such a run ends with, is left out where there is a backward, as the recording may have
    ended before its own.
    Why it costs: Tensors that a backward would need are kept for as long as the result is, and each
    op takes a little longer. With no gradients asked for, larger batches fit, and
    `nn.TransformerEncoderLayer` and `nn.MultiheadAttention` in `eval()` take their faster path.
    Example: A validation without `torch.no_grad()`, recorded as

        aten::linear    Sequence number 41
        aten::relu      Sequence number 42      and so on
        NOT any backward of these numbers

    Instead: Evaluate under `torch.inference_mode()` (or `torch.no_grad()`); `model.eval()` does not
    switch gradients off.
    Cannot see: It cannot tell an evaluation from a training step of which only the forward pass was
    recorded. That is why it is info. It misses an evaluation at a line that training reaches, too,
    if no model is called there: of a loop with such a line a branch may drop some rounds.
    """

    code = "TDY702"
    severity = Severity.INFO
    fix = "evaluate under torch.inference_mode(); model.eval() keeps recording gradients"
    why_no_edit = "what recording gradients takes is not in the trace"
    fewest_nodes = Option(
        10, "each op of a model makes a node; fewer are made to prepare an input, beside a model"
    )
    examples = (
        Fires("a-run", under(FRAME, _forward()), at=AT),
        Fires("validation-step", _steps(_TRAINED, _forward(13), "aten::mm"), at=AT),
        Fires("in-a-training-step", _steps(_TRAINED + _forward(13), _TRAINED), at=AT),
        Fires("without-steps", under(FRAME, _TRAINED, _forward(13), _forward(33), _LATER), at=AT),
        Quiet("computed-anew-by-the-engine", _steps(_TRAINED + _ANEW, _TRAINED)),
        Quiet("training", _steps(_TRAINED, _TRAINED, _TRAINED)),
        Quiet("no-gradients", under(FRAME, "aten::linear\n" * 12)),
        Quiet("nothing-needs-them", under(FRAME, "aten::linear seq=4\n" * 12)),
        Quiet(
            "weights-that-autocast-keeps", under(FRAME, _forward().replace("linear", "_to_copy"))
        ),
        Quiet("few-ops", under(FRAME, _forward(count=5))),
        Quiet("backward-in-a-later-step", _steps(_forward(), _TRAINED)),
        Quiet("cut-off-before-its-backward", _steps(_TRAINED, _forward(13))),
        Abstains("no-ops", FRAME),
    )

    def find(self, trace: Trace) -> Matches:
        forward, in_vain = autograd.nodes_in_vain(trace)
        used = forward[~in_vain]
        starts_ns = trace.start_ns[used]
        events = (
            event
            for event in autograd.without_backward(trace, self.fewest_nodes)
            if not _is_used_beside(event, used, starts_ns)
        )
        for same in places.grouped(events, _place):
            what = f"ops record gradients, and no backward uses them{places.within_range(same)}"
            yield Match(same, what, cost=(), location=_place(same[0]))


def _is_used_beside(event: Event, used: Rows, starts_ns: NDArray[np.int64]) -> bool:
    """Tell whether a backward uses what the same line has made a little before or after.

    Then it is a round of a loop whose result a branch drops. A line of a model's forward is reached
    by training and by evaluation, so that it tells nothing.

    Args:
        used: operators whose nodes a backward uses, by start, which `starts_ns` has.
    """
    if event.location is None or not event.location.is_call_line or _models_around(event):
        return False
    trace, at = event.trace, int(np.searchsorted(starts_ns, event.start_ns))
    beside = used[max(at - _BESIDE, 0) : at + _BESIDE]
    beside = beside[trace.name_id[beside] == trace.name_id[event.row]]
    return any(trace.location(row) == event.location for row in beside.tolist())


def _models_around(event: Event) -> list[Event]:
    return [above for above in event.ancestors() if above.name.startswith("nn.Module: ")]


def _place(event: Event) -> Location | None:
    """Where the model is called: training may call it as well, and reach the same line in it."""
    models = _models_around(event)
    called = models[-1].location if models else None
    return called if called is not None and called.is_call_line else event.location
