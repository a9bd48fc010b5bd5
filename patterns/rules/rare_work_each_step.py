"""TDY413: a checkpoint, a copy of the model, a picture or an evaluation, made in most steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Trace

from ..base import Match, Matches, Pattern
from ..evidence.fixes import edits
from ..evidence.python.frames import FETCH_ALONE
from ..evidence.time import evaluations, rare_work
from ..evidence.time.rare_work import InMostSteps, RareWork
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, on_gpu, steps, under
from ..option import EASY_WARNING, LARGE_INFO, warning_share, word_share

_FIXES = {
    RareWork.SAVE: "if it is a checkpoint, save after an epoch, or every N steps",
    RareWork.COPY: "copy after an epoch, or into tensors that are kept: torch._foreach_copy_",
    RareWork.PICTURE: "log it every N steps",
}
_EVALUATED = "if it is an evaluation or a sample for a log: evaluate every N steps"
_LEFT = (0.0, 0.1)  # every tenth step, or less often

_OP = "aten::mm 90us"
_SAVE = under(f"{FRAME} > torch/serialization.py(943): save 90us", "aten::detach")
_COPIED = under("torch/_tensor.py(133): __deepcopy__ 20us", "aten::copy_")
_EVERY_OTHER_STEP = joined(
    *[under(f"ProfilerStep#{at}", _OP, *([_SAVE] if at % 2 else [])) for at in range(1, 7)]
)
_COPY = under(FRAME, joined(*[_COPIED] * 4))
_IMAGE = under(f"{FRAME} > torch/utils/tensorboard/writer.py(600): add_image 90us", "aten::detach")

_TRAINED = joined(
    under("nn.Module: Net_0", "aten::linear seq=4 | float[8, 64], float[64, 64]"),
    under("autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0 seq=4/1"),
    "Optimizer.step#SGD.step",
)


def _called(name: str, at: int = 16) -> str:
    """A model evaluates 16 rows, of which memory goes before anything takes that many."""
    taken = f"[memory] 4096B at {at} of 4096"
    return under(
        FRAME, under(name, under("aten::linear 90us | float[16, 64], float[64, 64]", taken))
    )


def _gone(at: int = 16) -> str:
    return f"[memory] -4096B at {at} of 0\n"


_TARGETS = under("nn.Module: Loss_0", "aten::mse_loss | float[16, 64], float[16, 64]")
_RETURNED = "aten::lift_fresh | float[16, 4]\n"


class RareWorkEachStep(Pattern):
    """What a run needs now and then is done in most steps: checkpoints, copies, logs, evaluations.

    What it does: It finds places of the source that call `torch.save`, `safetensors`, copy tensors
    with `copy.deepcopy`, or log pictures, figures or histograms to TensorBoard, in two thirds of
    the steps and in three at least. Python between the copies of one model counts. It also finds
    calls of the model in training that record no gradients and of which no tensor is used later, as
    an evaluation or a sample of text has them, if they take 5 % of the steps: they are info, since
    the script may use a number read from them, for a decision or in the loss.
    Why it costs: The step waits for it: tensors are copied one by one, from the GPU to the host,
    pickled and written.
    Example: `best = copy.deepcopy(model.state_dict())` in the loop over batches, recorded as

        train.py(7): train
          torch/_tensor.py(...): __deepcopy__        for each tensor, in each step
            aten::copy_

    Instead: Do it after an epoch, when the model is better than before, or every N steps. What is
    needed in each step, such as weights to come back to, can be copied into tensors that are kept:
    `torch._foreach_copy_(kept, parameters)`.
    Cannot see: It knows these functions by name, and needs Python stacks for it. A thread or a
    process that saves meanwhile is left alone. Evaluations need shapes and memory; they are missed
    if what they return or write to has the size of something used later, if a checkpoint runs the
    model again, if batch norms update their statistics, or if the steps make tensors of Python's
    or numpy's values, as those of an agent do that acts by its model. Where call stacks have one
    frame, as on tidy's runtime, it does not say which line calls the function that evaluates.
    """

    code = "TDY413"
    needs = frozenset({Capability.OPS, Capability.STACKS, Capability.STEPS})
    fix = "do it after an epoch, or every N steps"
    warning_from = warning_share(EASY_WARNING)
    worth_a_word = word_share(LARGE_INFO, "evaluations")
    examples = (
        Fires("checkpoint", steps(_OP, _SAVE, lasts_us=None), events=3, at=AT),
        Fires("deep-copy", steps(_OP, _COPY, lasts_us=None), events=12, at=AT),
        Fires("picture", on_gpu(steps(_OP, _IMAGE, lasts_us=None)), events=3, at=AT),
        Fires(
            "evaluation",
            steps(_TRAINED, _called("nn.Module: Net_0"), _gone(), lasts_us=None),
            events=3,
            at=AT,
            severity=Severity.INFO,
        ),
        Quiet("a-teacher", steps(_TRAINED, _called("nn.Module: Teacher_0"), _gone())),
        Quiet("targets", steps(_called("nn.Module: Net_0"), _TRAINED, _TARGETS, _gone())),
        Quiet("an-agent", steps(_called("nn.Module: Net_0"), _gone(), _RETURNED, _TRAINED)),
        Quiet(
            "evaluated-in-every-other-step",
            joined(
                *(
                    steps(_TRAINED, *([_called("nn.Module: Net_0"), _gone()] if at % 2 else []))
                    .replace("#1", f"#{at}")
                    .split("ProfilerStep#2")[0]
                    for at in range(1, 7)
                )
            ),
        ),
        Quiet("once", steps(_OP, count=5) + under("ProfilerStep#6", _SAVE)),
        Quiet("every-other-step", _EVERY_OTHER_STEP),
        Quiet("a-batch-is-copied", steps(_OP, under(FRAME, _COPIED), lasts_us=None)),
        Quiet("items-are-copied", steps(_OP, under(f"{FRAME} > {FETCH_ALONE}", _COPIED * 4))),
        Quiet("scalars", steps(_OP, _IMAGE.replace("add_image", "add_scalar"))),
        Quiet("after-the-steps", steps(_OP) + _SAVE * 3),
        Abstains("no-stacks", steps(_OP)),
    )

    def find(self, trace: Trace) -> Matches:
        for work in rare_work.in_most_steps(trace):
            edit = edits.without_ops(trace, work.calls, "not in each step", _LEFT)
            edit = replace(edit, host=work.host)
            yield Match(work.calls, _said(trace, work), work.time, edit)
        for each in evaluations.in_most_steps(trace):
            if (trace.step_share(each.time) or 0.0) >= self.worth_a_word:
                yield self._evaluation(trace, each)

    def _evaluation(self, trace: Trace, each: evaluations.Evaluation) -> Match:
        count = round(len(each.calls) / each.step_count)
        track = int(trace.track_id[each.calls[0].row])
        work = edits.without_ops(trace, each.calls, "not in each step", _LEFT)
        edit: Edit = replace(work, host={track: each.time})
        times = "" if count == 1 else f" {count:,} times"
        return Match(
            each.calls,
            f"the model is called{times} without gradients{_in_steps(trace, each.step_count)},"
            " and training takes no tensor of it; a number read from it may be used",
            each.time,
            edit,
            Severity.INFO,
            at_most=Severity.INFO,
            location=each.location,
            fix_place=each.called_at,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        found, evaluated = (
            each.in_most_steps(events[0].trace) for each in (rare_work, evaluations)
        )
        if any(events[0] in each.calls for each in evaluated):
            return _EVALUATED
        return next((_FIXES[each.kind] for each in found if events[0] in each.calls), self.fix)


def _said(trace: Trace, work: InMostSteps) -> str:
    """Tell what is done, and in how many steps."""
    called = work.calls[0].name.rpartition(": ")[2]
    a_step = round(len(work.calls) / work.step_count)
    what = {
        RareWork.SAVE: f"tensors are saved ({called})",
        RareWork.COPY: f"{a_step:,} tensors are copied with copy.deepcopy",
        RareWork.PICTURE: f"a picture is logged ({called})",
    }[work.kind]
    return what + _in_steps(trace, work.step_count)


def _in_steps(trace: Trace, count: int) -> str:
    steps_of_trace = len(trace.steps)
    return " in each step" if count == steps_of_trace else f" in {count} of {steps_of_trace} steps"
