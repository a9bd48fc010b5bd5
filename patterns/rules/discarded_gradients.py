"""TDY709: gradients that are zeroed before anything reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tidy.finding import NotApplicable, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Intervals, Location, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import cleared_gradients, launches, memory, updates
from ..evidence.device.autograd import NODE, calls_of
from ..evidence.device.walks import ACCUMULATE, Walk
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..option import word_share

_LEFT = (0.0, 0.1)


def _node(number: int, address: int) -> str:
    """The backward of a product, and the gradient that it gives a parameter."""
    memory = f"[memory] 2048B at {address} of 2048"
    gradient = f"{ACCUMULATE} | float[64, 8]"
    return joined(
        under(f"{NODE}MmBackward0 > MmBackward0 seq={number}/1", "aten::mm 90us", memory),
        under(f"{NODE}{ACCUMULATE}", gradient),
    )


_SUM = under(f"{NODE}SumBackward0 > SumBackward0 seq=5/1", "aten::expand")
_BACKWARD = _SUM + _node(4, 7)
_CLEAR = under("Optimizer.zero_grad#SGD.zero_grad 9us", "[memory] -2048B at 7 of 0")
_CLEAR_BOTH = _CLEAR + "  [memory] -2048B at 9 of 0\n"
_EMPTY = "Optimizer.zero_grad#SGD.zero_grad 90us\n"
_UPDATE = under("Optimizer.step#SGD.step", "aten::add_ | float[64, 8], float[64, 8]")
_NORM = "aten::linalg_vector_norm | float[64, 8]\n"
_LIST = "aten::_foreach_norm | TensorList[]\n"


def _hooked(op: str, dims: str = "16") -> str:
    """The same, with a hook that calls an operator before the last node runs its own."""
    hook = f"train.py(3): hook\n    {op} | float[{dims}]\n  MmBackward0"
    return _BACKWARD.replace("  MmBackward0", f"  {hook}")


def _called(*parts: str) -> str:
    return under("torch/_tensor.py(600): backward", *parts)


def _looped(*parts: str, count: int = 4) -> str:
    return steps(under(FRAME, *parts), count=count, lasts_us=None)


class DiscardedGradients(Pattern):
    """Gradients are zeroed before an optimizer or the script has read them.

    What it does: It looks at the memory that each backward takes. If `zero_grad` gives all of it
    back that is left, and between both no optimizer steps, no hook does more than to change the
    gradients of activations, and no operator takes a tensor with the shape of a gradient, the
    backward was in vain. It reports what happens in two
    thirds of the steps and in three at least. It also finds calls of `zero_grad` that have nothing
    to clear, as no backward ran since the last, if these take 2 % of the steps: they are info.
    Why it costs: A backward takes about two thirds of a step. If the gradients were meant to train
    the model, it learns nothing from that batch.
    Example: `loss.backward()`, then `optimizer.zero_grad()`, then `optimizer.step()`, recorded as

        autograd::engine::evaluate_function: torch::autograd::AccumulateGrad
        Optimizer.zero_grad#Adam.zero_grad
          [memory]   that the gradients had
        Optimizer.step#Adam.step

    Instead: Call `zero_grad()` once, after the step or before the backward; with several backwards
    a step, before the first of them. Without use for a backward leave it out.
    Cannot see: It needs the memory that was taken and given back. It misses gradients that are
    filled with zeros (TDY603 finds these fills), a part of the gradients, and backwards of which
    other memory stays, as the gradient of an input does, or whose hooks read, write or copy.
    """

    code = "TDY709"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.MEMORY, Capability.STEPS})
    fix = "call zero_grad() once a step, after step() or before backward()"
    why_no_edit = "each optimizer may clear its own"
    worth_a_word = word_share(0.02, "calls with nothing to clear")
    examples = (
        Fires("before-the-step", _looped(_called(_BACKWARD), _CLEAR, _UPDATE), events=4, at=AT),
        Fires("twice", _looped(_EMPTY, _called(_BACKWARD), _UPDATE, _CLEAR), 3, AT, Severity.INFO),
        Quiet("trained", _looped(_called(_BACKWARD), _UPDATE, _CLEAR)),
        Quiet("the-script-reads-them", _looped(_called(_BACKWARD), _NORM, _CLEAR, _UPDATE)),
        Quiet("a-list-is-read", _looped(_called(_BACKWARD), _LIST, _CLEAR, _UPDATE)),
        Fires(
            "two-backwards",
            _looped(_called(_BACKWARD), _called(_node(3, 9)), _CLEAR_BOTH, _UPDATE),
            events=4,
            at=AT,
        ),
        Quiet(
            "read-between-two-backwards",
            _looped(_called(_BACKWARD), _NORM, _called(_node(3, 9)), _CLEAR_BOTH, _UPDATE),
        ),
        Fires(
            "a-hook-on-an-activation",
            _looped(_called(_hooked("aten::clamp")), _CLEAR, _UPDATE),
            events=4,
            at=AT,
        ),
        Quiet("a-hook-that-reads", _looped(_called(_hooked("aten::item")), _CLEAR, _UPDATE)),
        Quiet(
            "a-hook-on-a-gradient",
            _looped(_called(_hooked("aten::mul", "64, 8")), _CLEAR, _UPDATE),
        ),
        Quiet(
            "a-hook-that-adds-up",
            _looped(
                _called(_hooked("aten::add", "16], float[16], Scalar[], float[16")), _CLEAR, _UPDATE
            ),
        ),
        Fires(
            "a-hook-that-adds",
            _looped(_called(_hooked("aten::add", "16], float[16], Scalar[")), _CLEAR, _UPDATE),
            events=4,
            at=AT,
        ),
        Quiet("in-two-steps", _looped(_called(_BACKWARD), _CLEAR, _UPDATE, count=2)),
        Quiet(
            "another-gradient-stays",
            _looped(_called(_BACKWARD, _node(3, 9)), _CLEAR, _UPDATE),
        ),
        Quiet(
            "in-a-closure",
            _looped(under("Optimizer.step#LBFGS.step", _called(_BACKWARD), _CLEAR, _NORM)),
        ),
        Quiet(
            "twice-and-quick",
            _looped(
                _EMPTY.replace("90us", "1us"),
                *(_called(_BACKWARD, "aten::mm 900us"), _UPDATE, _CLEAR),
            ),
        ),
        Abstains("no-optimizer", _looped(_called(_BACKWARD), _CLEAR)),
        Abstains("no-memory", steps("aten::mm | float[4, 4], float[4, 4]")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(launches.tree_rows(trace, updates.STEP)):
            return NotApplicable("no step of an optimizer was recorded")
        return memory.without_addresses(trace)

    def find(self, trace: Trace) -> Matches:
        for same in places.parts(_unread(trace), lambda each: each.location, _first):
            step_count = loops.count_steps(trace, [_first(each).start_ns for each in same])
            if loops.are_most_steps(trace, step_count):
                yield Match(
                    [_first(each) for each in same],
                    "the gradients of this backward are zeroed before anything reads them",
                    Intervals(*np.array([each.time_ns for each in same], np.int64).T),
                    _without(trace, same),
                    location=same[0].location,
                )
        for calls in places.by_line(trace.events(cleared_gradients.needless(trace))):
            steps_with = loops.count_steps(trace, [call.start_ns for call in calls])
            time = trace.time_of(call.row for call in calls)
            is_usual = loops.are_most_steps(trace, steps_with)
            if is_usual and (trace.step_share(time) or 0.0) >= self.worth_a_word:
                said = "zero_grad() is called again, with no backward since the last time"
                yield Match(calls, said, time, severity=Severity.INFO, edit=None)


class _Unread(NamedTuple):
    """A backward whose gradients are zeroed unread, where it is called, and how long it takes."""

    trace: Trace
    walk: Walk
    location: Location | None
    time_ns: tuple[int, int]


def _first(each: _Unread) -> Event:
    return each.trace.event(int(each.walk.nodes[0]))


def _unread(trace: Trace) -> Iterator[_Unread]:
    calls = calls_of(trace)
    for walk in cleared_gradients.unread(trace):
        begun_ns, ended_ns = int(trace.start_ns[walk.nodes[0]]), int(trace.end_ns[walk.nodes[-1]])
        at = int(np.searchsorted(trace.start_ns[calls], begun_ns, side="right")) - 1
        is_called = at >= 0 and int(trace.end_ns[calls[at]]) >= ended_ns
        row = int(calls[at]) if is_called else int(walk.nodes[0])
        yield _Unread(trace, walk, trace.event(row).location, (begun_ns, ended_ns))


def _without(trace: Trace, found: Sequence[_Unread]) -> Edit:
    nodes = np.concatenate([each.walk.nodes for each in found])
    edit = edits.without_ops(trace, list(trace.events(nodes.tolist())), "no such backward", _LEFT)
    host: dict[int, Intervals] = {}
    for each in found:
        track = int(trace.track_id[each.walk.nodes[0]])
        host[track] = host.get(track, Intervals()) | Intervals(*np.array([each.time_ns]).T)
    return replace(edit, host=host)
