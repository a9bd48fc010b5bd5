"""TDY407: inputs that are prepared on the CPU, in the step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tidy.finding import FixPlace, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Event, EventKind, Intervals, Trace, time_text
from tidy.trace.location import is_user_file, parse_frame
from tidy.trace.names import matching

from ..base import Match, Matches, Pattern
from ..evidence.device import obstacles
from ..evidence.fixes import edits
from ..evidence.python import frames, places
from ..evidence.time import host_idle
from ..evidence.time.host_functions import preparing, preparing_calls, short_name
from ..evidence.time.loader_work import costliest_line
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..option import LARGE_INFO, word_share

# Operators that compute nothing (they look at memory in another way, or record something), and
# those that make a tensor of nothing, which is TDY201's.
_NO_WORK = (
    "aten::rand*", "aten::zeros*", "aten::ones*", "aten::full*", "aten::normal*", "aten::fill_",
    "aten::zero_", "aten::uniform_", "aten::arange",
    "aten::*flatten_dense_tensors", "aten::as_strided", "aten::view", "aten::narrow",
    "aten::slice", "aten::select", "aten::split*", "aten::empty*", "aten::detach*",
    "record_param_comms", "c10d::*", "nccl:*", "autograd::engine::*",
)  # fmt: skip
_ON_THE_DEVICE = "compute it on the GPU, or ahead of the step, in workers of a DataLoader"
_DEVICE_LEFT, _CPU_LEFT = (0.0, 0.3), (0.0, 0.7)

_OP = launch("aten::mm 9us", "gemm 5us", call="cudaLaunchKernel 5us")
_TOKENIZE = under(FRAME, "transformers/tokenization_utils_base.py(2790): __call__ 900us")
_SORT, _OWN = under(FRAME, "aten::sort 900us"), "train.py(7): preprocess 900us"
_CAPTURED = joined("cudaStreamBeginCapture", _SORT, "cudaStreamEndCapture")
_VIEWS = under(FRAME, "aten::unflatten_dense_tensors 900us")


class CpuPreprocessing(Pattern):
    """Inputs are prepared on the CPU within the step, and training waits for it.

    What it does: It looks, in the time in which no device works, for functions that tokenise,
    decode or transform inputs (libraries for images, audio and text, and functions called so), and
    for operators that compute on the CPU for 0.5 ms or longer. In a run without a GPU it looks for
    the functions alone. They have to take 5 % of the window, operators in two of its steps. What a
    DataLoader does is left to TDY101 and TDY105.
    Why it costs: Nothing else goes on meanwhile: the next kernel needs this input.
    Example: `inputs = processor(images)` in the loop, recorded as

        aten::mm
        image_processing_vit.py(150): preprocess        200 ms, while the GPU has nothing to do
        aten::to

    Instead: Prepare inputs in the workers of a DataLoader, ahead of the step, or once before
    training; move the tensors first and compute on the device.
    Cannot see: Without Python stacks it knows operators alone. Functions of other names are Python
    between operators (TDY401).
    """

    code = "TDY407"
    fix = "prepare inputs in workers of a DataLoader, or once before training"
    worth_a_word = word_share(LARGE_INFO, "preparing inputs")
    examples = (
        Fires("tokenizer", on_gpu(steps(_OP, _TOKENIZE, _OP)), events=3, at=AT),
        Fires("once-recorded", on_gpu(steps(_OP, _TOKENIZE, _OP, count=1)), at=AT),
        Fires("on-a-cpu", steps("aten::mm", under(_OWN, "aten::div")), events=3, at=AT),
        Fires("operators", on_gpu(steps(_OP, _SORT, _OP)), events=3, at=AT),
        Quiet("in-a-loader", steps(under(frames.FETCH_ALONE, _TOKENIZE), "aten::mm")),
        Quiet("hidden", on_gpu(steps(launch("aten::mm 9us", "gemm 2000us"), _TOKENIZE))),
        Quiet("little", on_gpu(steps(_OP, under(FRAME, "train.py(9): tokenize 20us"), _OP))),
        Quiet("an-operator-once", on_gpu(steps(_OP, _SORT, _OP, count=1))),
        Quiet("captured", on_gpu(steps(_OP, _CAPTURED, _OP))),
        Quiet("views", on_gpu(steps(_OP, _VIEWS, _OP))),
        Abstains("a-gpu-not-recorded", '# deviceProperties [{"id": 0, "name": "A100"}]\naten::mm'),
    )  # fmt: skip

    def applies(self, trace: Trace) -> Obstacle | None:
        if trace.is_cpu_run:
            return obstacles.without_functions(trace)
        return obstacles.without_device(trace) or obstacles.idle_unknown(trace)

    def find(self, trace: Trace) -> Matches:
        if trace.is_cpu_run:
            yield from self._on_the_cpu(trace)
            return
        idle = host_idle.host_idle(trace)
        for same in places.grouped(filter(_culprit, idle.stretches), _place):
            events = [each for each in map(_culprit, same) if each is not None]
            is_op = events[0].kind == EventKind.TorchOp
            usual = trace.step_share(host_idle.usual_time(trace, same))
            if not is_op or (usual or 0.0) >= self.worth_a_word:
                model = "not computed on the CPU" if is_op else "prepared by workers"
                host = host_idle.by_track(same)
                edit = Edit(model, host=host, left=_DEVICE_LEFT, moves=not is_op)
                yield from self._found(trace, events, host_idle.time_of(same), edit)

    def fix_of(self, events: Sequence[Event]) -> str:
        is_op = bool(events) and events[0].kind == EventKind.TorchOp
        return _ON_THE_DEVICE if is_op else self.fix

    def _on_the_cpu(self, trace: Trace) -> Matches:
        loaders = trace.time_of(trace.rows_named(frames.FETCH))
        for same in places.by_line(preparing_calls(trace, loaders.complement())):
            host = edits.host_time(trace, [each.row for each in same])
            edit = Edit("prepared by workers", host=host, left=_CPU_LEFT, moves=True)
            yield from self._found(trace, same, trace.time_of(e.row for e in same), edit)

    def _found(self, trace: Trace, events: Sequence[Event], time: Intervals, edit: Edit) -> Matches:
        inside = time & trace.step_time
        if (trace.step_share(inside) or 0.0) < self.worth_a_word:
            return
        a_step = time_text(inside.total_ns / trace.window.step_count)
        who = "the step" if trace.is_cpu_run else "the GPU"
        unit = "in all" if trace.window.unit == "run" else f"a {trace.window.unit}"
        yield Match(
            list(dict.fromkeys(events)),
            message=f"{who} waits {a_step} {unit} for {short_name(events[0])} on the CPU",
            severity=Severity.WARNING,
            cost=inside,
            edit=edit,
            fix_place=_costliest(events),
        )


def _costliest(events: Sequence[Event]) -> FixPlace | None:
    """The line of a function of the user's that takes much of it; None where that is not known."""
    frame = parse_frame(events[0].name)
    if frame is None or not is_user_file(frame.file):
        return None
    line = costliest_line(dict.fromkeys(events), frame)
    return FixPlace("its costliest line is", line) if line != frame else None


def _culprit(stretch: host_idle.Stretch) -> Event | None:
    """The function that prepares inputs in a stretch, or the operator that computes on the CPU."""
    function = preparing(stretch.functions)
    if function is not None:
        return function
    op = stretch.op
    return None if op is None or matching([op.name], _NO_WORK) else op


def _place(stretch: host_idle.Stretch) -> Hashable:
    culprit = _culprit(stretch)
    return (culprit.location, culprit.name) if culprit is not None else None
