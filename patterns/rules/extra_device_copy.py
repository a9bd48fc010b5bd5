"""TDY201: a tensor made on the CPU and moved to the device at once."""

from __future__ import annotations

from collections.abc import Sequence

from tidy.savings import Edit
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern, Matches
from ..evidence.device import copies, launches
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..evidence.time.uploads import moves_of_modules
from ..examples import AT, FRAME, Abstains, Fires, Quiet, copy, joined, launch, on_gpu, steps, under

_UP, _DOWN = "HtoD (Pageable -> Device) 3us 32B", "DtoH (Device -> Pageable) 3us 32B"
_ONES = under("aten::ones", "aten::empty", "aten::fill_ | float[8], =1")
_ONES_ON_THE_GPU = launch("aten::ones > aten::fill_ | float[8], =1", "fill_kernel")
_ZEROS_ON_THE_GPU = launch(
    "aten::zeros > aten::zero_ | float[8]", "Memset (Device)", call="cudaMemsetAsync"
)
_TO = "aten::to | {0} > aten::_to_copy | {0} > aten::copy_ | {0}, {0}, =False"
_NOT_MOVED = under(_TO.format("float[8]"))


def _copied(what: str, shape: str = "float[8]") -> str:
    return copy(what, op=_TO.format(shape))


_ZEROS = "<built-in method zeros of type object> > aten::zeros > aten::zero_"
_CALLED_ZEROS = under(f"{_ZEROS} | float[8]")
_MODULE_TO = "torch/nn/modules/module.py(1310): to > torch/nn/modules/module.py(917): _apply"
_STEPS = steps(launch("aten::relu", "relu_kernel"), lasts_us=None)
_CALLED_TO = under("<built-in method to of Tensor object>", _copied("HtoD (Pageable -> Device)"))


class ExtraDeviceCopy(DevicePattern):
    """A tensor is filled on the CPU and then copied to the GPU, where it could have been filled.

    What it does: It finds copies to a GPU that come right after an op that fills a tensor on the
    CPU. The copy counts only where the profiler saw it reach a device, and only where the filled
    tensor has the shape of what is copied. Modules that move to the GPU are left alone, and so is
    what a run with steps does outside of them, as it sets up.
    Why it costs: The fill runs on the slower side, the copy has to cross the bus and, from pageable
    memory, the host waits for it.
    Example: `torch.zeros(64, 4).to("cuda")`, recorded as

        <built-in method zeros ...>   |   <built-in method to ...>
          aten::zeros                 |     aten::to
            aten::zero_               |       aten::_to_copy
                                      |         aten::copy_
                                      |           cudaMemcpyAsync => Memcpy HtoD

    Instead: Create the tensor where it is used: `torch.zeros(shape, device=device)`.
    Cannot see: It misses data of NumPy or Python lists, which has to be copied anyway, and fills
    with other work between them and the copy.
    """

    code = "TDY201"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    triggers = frozenset({"aten::to"})
    fix = "create the tensor where it is used: torch.zeros(..., device=device)"
    examples = (
        Fires("zeros-to", on_gpu(_CALLED_ZEROS, _CALLED_TO, frame=FRAME), at=AT),
        Fires("without-stacks", on_gpu(_ONES, _copied(_UP))),
        Fires("after-a-line", on_gpu(_ONES, f"{FRAME} 20us", _copied(_UP), frame=FRAME), at=AT),
        Quiet("after-a-call", on_gpu(_ONES, "train.py(20): pad 20us", _copied(_UP), frame=FRAME)),
        Quiet("after-a-long-line", on_gpu(_ONES, f"{FRAME} 900us", _copied(_UP), frame=FRAME)),
        Quiet("another-tensor", on_gpu(_ONES, _copied(_UP.replace("32B", "512B"), "float[128]"))),
        Quiet("of-another-dtype", on_gpu(_ONES, _copied(_UP.replace("32B", "64B"), "double[8]"))),
        Quiet("to-the-cpu", on_gpu(_ONES_ON_THE_GPU, _copied(_DOWN))),
        Quiet("filled-on-the-device", on_gpu(_ZEROS_ON_THE_GPU, _copied(_UP))),
        Quiet("stays-on-cpu", on_gpu(_ONES, _NOT_MOVED, launch("aten::relu", "relu_kernel"))),
        Quiet("a-module-moves", on_gpu(_ONES, under(_MODULE_TO, _copied(_UP)), frame=FRAME)),
        Quiet("before-the-steps", on_gpu(_ONES, _copied(_UP), _STEPS, frame=FRAME)),
        Fires("in-each-step", on_gpu(steps(_ONES, _copied(_UP), lasts_us=None)), events=3),
        Abstains("cpu-run", joined(_ONES, _NOT_MOVED)),
    )

    def match(self, event: Event) -> bool:
        return copies.fill_copied_by(event) is not None

    def find(self, trace: Trace) -> Matches:
        ops = trace.rows_named(*self.triggers)
        ops = ops[~moves_of_modules(trace).contains(ops)]
        if trace.steps:
            ops = ops[loops.step_of(trace, trace.start_ns[ops]) >= 0]
        ops = ops[copies.follow_fills(trace, ops)]
        moved = launches.launches_any(trace, ops, copies.copy_rows(trace, "HtoD"))
        return self.by_place(filter(self.match, trace.events(ops[moved])))

    def message(self, events: object) -> str:
        return "filled on the CPU, then copied to the GPU"

    def cost_rows(self, event: Event) -> Sequence[int]:
        return [each.row for each in _fill_and_copy(event)]

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Replay a fill on the device, which takes its launch alone."""
        ops = [each for event in events for each in _fill_and_copy(event)]
        return edits.without_ops(trace, ops, "filled on the device", edits.REMOVED)


def _fill_and_copy(event: Event) -> list[Event]:
    """The op that fills, as Python called it, and the one that copies."""
    fill = copies.fill_copied_by(event)
    return [event] if fill is None else [launches.outermost_op(fill), event]
