"""TDY305: a value is read while the copy that brings it is still under way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, launches
from ..evidence.python import places
from ..evidence.time import reads, waits
from ..examples import WORK, Abstains, Fires, Quiet, copy, launch, on_gpu, under

_BACK = "Memcpy DtoH (Device -> Pinned)*"
# They tell whether work is done, and a loop around them waits for it.
_QUERIES = ("cu*EventQuery*", "cu*StreamQuery*", "hipEventQuery*", "hipStreamQuery*")

_LINE = " @train.py(7): train"
_SAME, _NEXT = f"aten::sum{_LINE} | float[64]", "aten::sum @train.py(8): train | float[64]"


def _read_back(non_blocking: str = "True", memory: str = "Pinned", line: str = _LINE) -> str:
    made = f"aten::copy_ | float[64], float[64], ={non_blocking}"
    what = f"DtoH (Device -> {memory}) 90us 256B"
    return under(
        f"aten::to{line}", copy(what, op=made, wait_us=0 if non_blocking == "True" else 95)
    )


_MEAN = launch("aten::mean | float[64]", "reduce_kernel 90us")
_NUMBER = _read_back().replace("[64]", "[]").replace("256B", "4B")


class ReadBeforeCopyEnds(DevicePattern):
    """A value that comes from the GPU with `non_blocking=True` is read before it is there.

    What it does: It finds copies from the GPU to pinned memory with `non_blocking=True` whose
    result, of the same shape and type, is an input of the next op, of the same line, on the CPU,
    with no wait in between. Such ops read what happened to be in that memory before.
    Why it costs: Results are wrong, now and then, and nothing says so: it depends on how far behind
    the GPU is. That is why it is an error.
    Example: `loss.to("cpu", non_blocking=True).item()`, recorded as

        aten::to                        Concrete Inputs: non_blocking True
          => Memcpy DtoH (Device -> Pinned)
        aten::item                      of the same line, begun before that ends

    Instead: Leave `non_blocking` out where the value is used next (`loss.item()` alone does it), or
    record an event after the copy and call `event.synchronize()` before the value is used.
    Cannot see: Traces do not tell which tensor an op reads, so that it knows only what a single
    line does, and lines only where tidy recorded them. Of single numbers it knows reads (`.item()`)
    alone. It misses `.numpy()`, which is no op.
    """

    code = "TDY305"
    severity = Severity.ERROR
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    fix = "leave non_blocking out, or wait for an event before the value is used"
    why_no_edit = "it is about results, not about time"
    examples = (
        Fires("same-line", on_gpu(WORK, _read_back(), _SAME), at="train.py:7"),
        Fires("a-number", on_gpu(_MEAN, _NUMBER, f"aten::item{_LINE} | float[]"), at="train.py:7"),
        Quiet("another-number", on_gpu(_MEAN, _NUMBER, f"aten::mul{_LINE} | float[], Scalar")),
        Quiet("another-line", on_gpu(WORK, _read_back(), _NEXT)),
        Quiet("it-waits", on_gpu(WORK, _read_back("False"), _SAME)),
        Quiet("pageable-memory-waits", on_gpu(WORK, _read_back(memory="Pageable"), _SAME)),
        Quiet("waited-for", on_gpu(WORK, _read_back(), "cudaEventSynchronize 95us", _SAME)),
        Quiet("asked-for", on_gpu(WORK, _read_back(), "cudaEventQuery", _SAME)),
        Quiet("another-shape", on_gpu(_read_back(), f"aten::sum{_LINE} | float[8]", WORK)),
        Quiet("on-the-gpu", on_gpu(_read_back(), launch(_SAME, "reduce_kernel 9us"))),
        Abstains("lines-not-recorded", on_gpu(WORK, _read_back(line=""), "aten::sum | float[64]")),
        Abstains("cpu-run", "aten::mm | float[8, 8]"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        copied = _copied(trace)
        if not copied or any(_line_is_known(event) for event in copied):
            return None
        return NotChecked(
            "the lines of calls are not recorded, and without them it is not known what is read",
            "record with tidy run",
        )

    def find(self, trace: Trace) -> Matches:
        is_early = dict(_reads(trace))
        for ops in places.grouped(is_early, lambda op: op.location):
            early = sum(is_early[op] for op in ops)
            said = f"{ops[0].name} reads, without a wait, what non_blocking=True copies"
            said += f"; {early} of {len(ops)} times it was not there yet" if early else ""
            yield Match(ops, said, edit=None)


def _copied(trace: Trace) -> list[Event]:
    """Each `aten::copy_` that fetches from the GPU and does not wait."""
    found = map(copies.copy_op, trace.events(trace.rows_named(_BACK)))
    return [copy for copy in found if copy is not None and copies.non_blocking(copy) == "True"]


def _line_is_known(event: Event) -> bool:
    return event.location is not None and event.location.is_call_line


def _reads(trace: Trace) -> Iterator[tuple[Event, bool]]:
    """Ops that use what the host does not wait for, and whether it was not there yet."""
    told = np.union1d(waits.waiting_calls(trace), launches.calls_of(trace, *_QUERIES))
    told_ns = np.sort(trace.end_ns[told])
    for copied in _copied(trace):
        op = next(launches.ops_after(launches.outermost_op(copied)), None)
        if op is None or not _line_is_known(op) or op.location != copied.location:
            continue
        waited = np.searchsorted(told_ns, op.start_ns) > np.searchsorted(told_ns, copied.start_ns)
        if waited or op.kernels or op.runtime_calls or not _takes(op, copied):
            continue
        yield op, op.start_ns < max(work.end_ns for work in copied.kernels)


def _takes(op: Event, copied: Event) -> bool:
    """Tell whether an input of an op has the shape and the type of what was copied.

    Many a number is of one shape and type: those count where Python reads them.
    """
    made = list(zip(copied.input_shapes, copied.input_dtypes, strict=False))[:1]
    taken = zip(op.input_shapes, op.input_dtypes, strict=False)
    is_known = copied.input_shapes[:1] != ((),) or op.name in reads.READS
    return is_known and any(each in made for each in taken)
