"""TDY304: numbers of Python that go to the GPU one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod

from tidy.finding import Finding, NotApplicable, NotChecked, Saving
from tidy.trace import Capability, Event, EventKind, Trace, remedy
from tidy.trace.inputs import ITEM_NBYTES

from ..base import Pattern
from ..copies import upload_rows
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device
from ..launches import launching_ops
from ..timing import severity_by_share, step_of

_MOST_NBYTES = 64
_FEWEST_A_STEP = 3
_FEWEST_STEPS = 2
_MADE = re.compile(r"<built-in (method|function) (tensor|as_tensor|scalar_tensor)\b")
_MOVED = re.compile(r"<built-in (method|function) (to|cuda)\b")
# What torch.tensor() calls on its result.
_FRESH = frozenset({"aten::lift_fresh", "aten::detach_"})


# For an example: one copy, without stacks.
_COPY = """\
aten::to 10us
  aten::copy_
    cudaMemcpyAsync
      => Memcpy HtoD (Pageable -> Device) 1us 4B
"""


class ScalarUploads(Pattern):
    """Numbers of Python are made tensors on the GPU one by one, a copy and a wait for each.

        <built-in method tensor of type ...>
          aten::to
            aten::copy_
              cudaMemcpyAsync => Memcpy HtoD      64 bytes or less
              cudaStreamSynchronize
          aten::lift_fresh

    Reported from three at one place of the source in each of two steps.

    Cost: the calls on the host; the copy is from pageable memory, so that the host waits for it.
    Instead: leave them Python numbers (an op takes those as arguments, without a copy), make them
    once before the loop, or send them together in one tensor.
    Misses: runs without Python stacks; numbers that become tensors on the CPU somewhere else and
    are moved later. Below 5 % of the step it is said as info.
    """

    code = "TDY304"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "keep them Python numbers, or make one tensor of them before the loop"
    examples = (
        Fires(
            "three-a-step",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 200us
              train.py(7): train
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::_to_copy
                      aten::copy_
                        cudaMemcpyAsync
                          => Memcpy HtoD (Pageable -> Device) 1us 4B
                  aten::lift_fresh
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::_to_copy
                      aten::copy_
                        cudaMemcpyAsync
                          => Memcpy HtoD (Pageable -> Device) 1us 4B
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::_to_copy
                      aten::copy_
                        cudaMemcpyAsync
                          => Memcpy HtoD (Pageable -> Device) 1us 4B
            ProfilerStep#2 200us
              train.py(7): train
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::_to_copy
                      aten::copy_
                        cudaMemcpyAsync
                          => Memcpy HtoD (Pageable -> Device) 1us 4B
                <built-in method tensor of type object>
                  aten::lift_fresh
                <built-in method to of Tensor object>
                  aten::to 10us
                    aten::_to_copy
                      aten::copy_
                        cudaMemcpyAsync
                          => Memcpy HtoD (Pageable -> Device) 1us 4B
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::_to_copy
                      aten::copy_
                        cudaMemcpyAsync
                          => Memcpy HtoD (Pageable -> Device) 1us 4B
            """,
            events=6,
            at="train.py:7",
        ),
        Quiet(
            "one-a-step",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 200us
              train.py(7): train
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::copy_
                      cudaMemcpyAsync
                        => Memcpy HtoD (Pageable -> Device) 1us 4B
            ProfilerStep#2 200us
              train.py(7): train
                <built-in method tensor of type object>
                  aten::to 10us
                    aten::copy_
                      cudaMemcpyAsync
                        => Memcpy HtoD (Pageable -> Device) 1us 4B
            """,
        ),
        Abstains(
            "no-stacks",
            "# device 0 NVIDIA A100 8.0\n" + 6 * _COPY,
        ),
        Abstains("cpu-run", "aten::to\n  aten::copy_"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is not None:
            return obstacle
        wanted = (Capability.STACKS, Capability.STEPS)
        missing = [each for each in wanted if each not in trace.capabilities]
        if missing and _may_be_many(trace, list(_small_uploads(trace))):
            names = " and ".join(each.label for each in missing)
            return NotChecked(f"no {names} recorded", remedy(missing))
        return None

    def check(self, trace: Trace) -> Iterable[Finding]:
        places: dict[object, list[Event]] = {}
        for op in _small_uploads(trace):
            if op.location is not None and _is_of_python(op):
                places.setdefault(op.location, []).append(op)
        for events in places.values():
            often = _often(trace, events)
            if len(often) < _FEWEST_STEPS:
                continue
            time = trace.time_of(event.row for event in events)
            yield self.report(
                trace,
                events,
                message=f"Python numbers go to the GPU one by one, up to {max(often)} a step",
                severity=severity_by_share(trace.step_share(time)),
                saving=Saving(0, time.total_ns, "none where the host does not hold up the GPU"),
            )


def _often(trace: Trace, events: list[Event]) -> list[int]:
    """How many of the events are in each step, for steps that have enough of them."""
    steps = step_of(trace, [event.start_ns for event in events]).tolist()
    counts = Counter(step for step in steps if step >= 0)
    return [count for count in counts.values() if count >= _FEWEST_A_STEP]


def _may_be_many(trace: Trace, events: list[Event]) -> bool:
    """Whether there is something to report if all these copies are of one place."""
    if not trace.steps:
        return len(events) >= _FEWEST_A_STEP * _FEWEST_STEPS
    return len(_often(trace, events)) >= _FEWEST_STEPS


def _small_uploads(trace: Trace) -> Iterator[Event]:
    """The outermost op around each small copy to a device."""
    rows = upload_rows(trace)
    for row, op in zip(rows.tolist(), launching_ops(trace, rows).tolist(), strict=True):
        if op >= 0 and 0 < _nbytes(trace.event(row), trace.event(op)) <= _MOST_NBYTES:
            event = trace.event(op)
            while (above := event.parent) is not None and above.kind == EventKind.TorchOp:
                if not above.name.startswith("aten::"):
                    break
                event = above
            yield event


def _nbytes(copy: Event, op: Event) -> int:
    """Bytes of a copy; by its inputs where they are not recorded, as on AMD; 0 for unknown."""
    shapes, dtypes = op.input_shapes[1:2], op.input_dtypes[1:2]
    if copy.nbytes or not shapes or not dtypes:
        return copy.nbytes
    known = isinstance(shapes[0], tuple) and all(isinstance(size, int) for size in shapes[0])
    return prod(shapes[0]) * ITEM_NBYTES.get(dtypes[0], 0) if known else 0


def _is_of_python(op: Event) -> bool:
    """Whether torch.tensor() makes the copy, or has made what is copied right before."""
    above, after = op.parent, op.next_sibling
    if (above is not None and _MADE.match(above.name)) or (
        after and after.name == "aten::lift_fresh"
    ):
        return True
    before = op.previous_sibling
    if before is None and above is not None and _MOVED.match(above.name):
        before = above.previous_sibling
    return before is not None and (bool(_MADE.match(before.name)) or before.name in _FRESH)
