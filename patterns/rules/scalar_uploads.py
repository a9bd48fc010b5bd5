"""TDY304: numbers of Python that go to the GPU one by one."""

from __future__ import annotations

from tidy.finding import Obstacle
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, obstacles
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..examples import AT, Abstains, Fires, Quiet, copy, joined, looped, on_gpu, under
from ..option import WORTH_A_WARNING, Option, warning_share

_TENSOR = "<built-in method tensor of type object>"
_TO = copy("HtoD (Pageable -> Device) 1us 4B", op="aten::to 10us > aten::_to_copy > aten::copy_")
_MADE_ONE = under(_TENSOR, _TO)
_FRESH_ONE = under(_TENSOR, _TO, "aten::lift_fresh")
_MADE_THEN_MOVED = joined(
    under(f"{_TENSOR} > aten::lift_fresh"), under("<built-in method to of Tensor object>", _TO)
)


class ScalarUploads(DevicePattern):
    """Python numbers become tensors on the GPU one by one, with a copy and a wait for each.

    What it does: It finds copies of 64 bytes or less that `torch.tensor()` makes, from three at one
    place of the source in each of two steps.
    Why it costs: There are several calls on the host for each number, and the copy is from pageable
    memory, so that the host waits for it.
    Example: `scale = torch.tensor(0.5, device="cuda")` in the loop, recorded as

        <built-in method tensor of type ...>
          aten::to
            aten::copy_
              cudaMemcpyAsync => Memcpy HtoD      64 bytes or less
              cudaStreamSynchronize
          aten::lift_fresh

    Instead: Leave them Python numbers (an op takes those as arguments, without a copy), make them
    once before the loop, or send them together in one tensor.
    Cannot see: It misses runs without Python stacks, and numbers that become tensors on the CPU
    somewhere else and are moved later.
    """

    code = "TDY304"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "keep them Python numbers, or make one tensor of them before the loop"
    most_nbytes = Option(64, "more is no number of Python but a tensor", least=1)
    fewest_a_step = Option(
        3, "one or two numbers a step are what a loss and its scale take", least=1
    )
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("three-a-step", looped(_FRESH_ONE, _MADE_ONE, _MADE_THEN_MOVED, lasts_us=200), 6, AT),
        Quiet("one-a-step", looped(_MADE_ONE, lasts_us=200)),
        Abstains("no-stacks", on_gpu(_TO * 6)),
        Abstains("cpu-run", "aten::to\n  aten::copy_"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        wanted = (Capability.STACKS, Capability.STEPS)
        missing = [each for each in wanted if each not in trace.capabilities]
        may_be_many = missing and self._may_be_many(trace)
        return obstacles.not_recorded(trace, *missing) if may_be_many else None

    def find(self, trace: Trace) -> Matches:
        small = copies.small_uploads(trace, self.most_nbytes)
        known = [op for op in small if copies.is_of_python(op) and op.location is not None]
        for same in places.grouped(known, lambda op: op.location):
            often = self._often(trace, same)
            for events in places.by_window(same) if len(often) >= loops.FEWEST_STEPS else ():
                said = f"Python numbers go to the GPU one by one, up to {max(often)} a step"
                # One tensor of all of them is a copy for many.
                edit = edits.without_ops(trace, events, "kept as numbers of Python", (0.0, 0.3))
                yield Match(events, said, edit=edit)

    def _may_be_many(self, trace: Trace) -> bool:
        """Tell whether there is something to report if all these copies are of one place."""
        events = list(copies.small_uploads(trace, self.most_nbytes))
        if not trace.steps:
            return len(events) >= self.fewest_a_step * loops.FEWEST_STEPS
        return len(self._often(trace, events)) >= loops.FEWEST_STEPS

    def _often(self, trace: Trace, events: list[Event]) -> list[int]:
        """Tell how many of the events are in each step, for steps that have enough of them."""
        starts = [event.start_ns for event in events]
        return list(loops.steps_with(trace, starts, self.fewest_a_step).values())
