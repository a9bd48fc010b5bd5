"""TDY708: a module runs a second time on the same inputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Event, Events, Trace
from tidy.trace.repeated_calls import repeated_calls

from ..base import Match, Matches, Pattern
from ..evidence.device.repeated_calls import CalledAgain, called_again
from ..evidence.fixes import edits
from ..examples import Abstains, Fires, Quiet, steps, under

_NOT_NOTED = NotChecked(
    "the trace does not say what inputs modules were called with", "record with tidy run"
)
_LEFT = (0.0, 0.1)

_TRAINS, _LOGS = "train.py(7): train", "train.py(9): train"


def _noted(**more: object) -> str:
    """The header of a recording: of the calls at both places, with what differs from the usual."""
    noted: dict[str, object] = {"module": "Net", "first": [_TRAINS], "again": [_LOGS]}
    noted |= {"first_grad": True, "again_grad": False, "after_step": False, "steps": 9, "proofs": 8}
    return f"# tidy_repeated_calls {json.dumps([noted | more])}\n"


def _call(at: str, *ops: str) -> str:
    return under(f"nn.Module: Net_0 @{at}", *(ops or ("aten::linear 90us",)))


_BOTH = (_call(_TRAINS), "aten::add 50us", _call(_LOGS))
_IN_VAIN = _call(_LOGS, "aten::linear 90us seq=5")


class RepeatedForward(Pattern):
    """A module runs on the same inputs as before, and nothing has changed in between.

    What it does: `tidy run` notes which tensors a module is called with, by their memory and their
    version, and whether parameters, buffers and modes were the same. Of calls of modules that are
    in no other it finds those at another line that had all of that in common with one before, in
    two thirds of the steps and in three at least. Of two of which one records no gradients it names
    that one. A call after the optimizer's step, of which no backward runs, is info: its parameters
    are others.
    Why it costs: A forward pass is a third of a training step, and what it computes is there
    already. One that records gradients also keeps its activations a second time.
    Example: The accuracy is computed from a second run of the model, recorded as

        nn.Module: Net_0       at train.py:33
        nn.Module: Net_0       at train.py:40, on the same inputs

    Instead: Keep the output of one call, and use it for both: `output.detach()` for what is logged.
    Several derivatives come from one call, `torch.autograd.grad(u.sum(), (x, t))`.
    Cannot see: It needs a recording of `tidy run` with Python stacks. Inputs in a class of the
    script's own, or copied or cut anew for each call, are left alone, and so is a module with
    dropout, noise, batch norm that trains, or a state of its own, whose second result is another
    one; checkpoints, which compute anew on purpose; and what torch.compile made. After a step the
    result with the new parameters may be what is wanted.
    """

    code = "TDY708"
    needs = frozenset({Capability.OPS, Capability.STACKS, Capability.STEPS})
    severity = Severity.INFO  # what a module reads elsewhere may have changed, and nobody sees it
    fix = "keep the output of one call for both; output.detach() for what is logged"
    examples = (
        Fires("for-the-log", _noted() + steps(*_BOTH), events=3, at="train.py:9"),
        Fires(
            "evaluated-before",
            _noted(first_grad=False, again_grad=True) + steps(*_BOTH),
            events=3,
            at="train.py:7",
        ),
        Fires("both-with-gradients", _noted(again_grad=True) + steps(*_BOTH), 3, "train.py:9"),
        Fires(
            "after-the-step",
            _noted(again_grad=True, after_step=True, proofs=0) + steps(_call(_TRAINS), _IN_VAIN),
            events=3,
            at="train.py:9",
        ),
        Quiet("no-pairs", "# tidy_repeated_calls []\n" + steps(*_BOTH)),
        Quiet("never-looked-at", _noted(proofs=0) + steps(*_BOTH)),
        Quiet("twice-in-all", _noted() + steps(*_BOTH, count=2)),
        Quiet("in-every-second-step", _noted() + steps(*_BOTH, count=3) + steps(_BOTH[0])),
        Quiet("dropout", _noted() + steps(_BOTH[0], _call(_LOGS, "aten::native_dropout"))),
        Quiet("compiled", _noted() + steps(_BOTH[0], _call(_LOGS, "Torch-Compiled Region: 0/0"))),
        Quiet("in-another-module", _noted() + steps(under("nn.Module: Out_0", *_BOTH))),
        Quiet("two-of-the-class", _noted() + steps(*_BOTH, _BOTH[2].replace("Net_0", "Net_1"))),
        Quiet(
            "trained-after-a-step",
            _noted(again_grad=True, after_step=True)
            + steps(_call(_TRAINS), _IN_VAIN, "AddmmBackward0 seq=5/1"),
        ),
        Abstains("not-noted", steps(*_BOTH)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return _NOT_NOTED if repeated_calls(trace) is None else None

    def find(self, trace: Trace) -> Matches:
        for each in called_again(trace):
            events = Events(trace, each.rows)
            edit = edits.without_ops(trace, events, "without the second run", _LEFT)
            yield Match(
                events,
                _said(each),
                edit=replace(edit, waits=()),
                location=each.place,
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        call = next(e.call for e in called_again(events[0].trace) if events[0].row in e.rows)
        if call.after_step:
            return "if it is for a log, keep the output, or the loss, of the call before the step"
        return (
            "keep the output of one call for both"
            if call.first_grad == call.again_grad
            else self.fix
        )


def _said(again: CalledAgain) -> str:
    name = again.call.module
    if again.call.after_step:
        return (
            f"the inputs of a step go through {name} again after it, as at {again.other}, and no"
            " backward follows"
        )
    when = "before they do so" if again.is_first else "again, as"
    return f"the same inputs go through {name} {when} at {again.other}"
