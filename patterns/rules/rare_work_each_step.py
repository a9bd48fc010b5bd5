"""TDY413: a checkpoint, a copy of the model or a picture for a log, made in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidy.trace import Capability, Event, Trace

from ..base import Match, Matches, Pattern
from ..evidence.fixes import edits
from ..evidence.python.frames import FETCH_ALONE
from ..evidence.time.rare_work import InMostSteps, RareWork, in_most_steps
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, on_gpu, steps, under
from ..option import EASY_WARNING, warning_share

_FIXES = {
    RareWork.SAVE: "if it is a checkpoint, save after an epoch, or every N steps",
    RareWork.COPY: "copy after an epoch, or into tensors that are kept: torch._foreach_copy_",
    RareWork.PICTURE: "log it every N steps",
}
_LEFT = (0.0, 0.1)  # every tenth step, or less often

_OP = "aten::mm 90us"
_SAVE = under(f"{FRAME} > torch/serialization.py(943): save 90us", "aten::detach")
_COPIED = under("torch/_tensor.py(133): __deepcopy__ 20us", "aten::copy_")
_EVERY_OTHER_STEP = joined(
    *[under(f"ProfilerStep#{at}", _OP, *([_SAVE] if at % 2 else [])) for at in range(1, 7)]
)
_COPY = under(FRAME, joined(*[_COPIED] * 4))
_IMAGE = under(f"{FRAME} > torch/utils/tensorboard/writer.py(600): add_image 90us", "aten::detach")


class RareWorkEachStep(Pattern):
    """What a run needs now and then is done in each step: checkpoints, copies, pictures for a log.

    What it does: It finds places of the source that call `torch.save`, `safetensors`, copy tensors
    with `copy.deepcopy`, or log pictures, figures or histograms to TensorBoard, in two thirds of
    the steps and in three at least. Python between the copies of one model counts.
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
    process that saves meanwhile is left alone.
    """

    code = "TDY413"
    needs = frozenset({Capability.OPS, Capability.STACKS, Capability.STEPS})
    fix = "do it after an epoch, or every N steps"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("checkpoint", steps(_OP, _SAVE, lasts_us=None), events=3, at=AT),
        Fires("deep-copy", steps(_OP, _COPY, lasts_us=None), events=12, at=AT),
        Fires("picture", on_gpu(steps(_OP, _IMAGE, lasts_us=None)), events=3, at=AT),
        Quiet("once", steps(_OP, count=5) + under("ProfilerStep#6", _SAVE)),
        Quiet("every-other-step", _EVERY_OTHER_STEP),
        Quiet("a-batch-is-copied", steps(_OP, under(FRAME, _COPIED), lasts_us=None)),
        Quiet("items-are-copied", steps(_OP, under(f"{FRAME} > {FETCH_ALONE}", _COPIED * 4))),
        Quiet("scalars", steps(_OP, _IMAGE.replace("add_image", "add_scalar"))),
        Quiet("after-the-steps", steps(_OP) + _SAVE * 3),
        Abstains("no-stacks", steps(_OP)),
    )

    def find(self, trace: Trace) -> Matches:
        for work in in_most_steps(trace):
            edit = edits.without_ops(trace, work.calls, "not in each step", _LEFT)
            edit = replace(edit, host=work.host)
            yield Match(work.calls, _said(trace, work), work.time, edit)

    def fix_of(self, events: Sequence[Event]) -> str:
        found = in_most_steps(events[0].trace)
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
    is_each = work.step_count == len(trace.steps)
    return what + (
        " in each step" if is_each else f" in {work.step_count} of {len(trace.steps)} steps"
    )
