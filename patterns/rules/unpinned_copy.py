"""TDY103: batches copied to the device from pageable memory."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Trace, rows_of

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, launches
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..evidence.time import uploads
from ..examples import AT, WORK, Abstains, Fires, Quiet, copy, looped, on_gpu, steps, to_gpu
from ..option import EASY_WARNING, Option, warning_share

_BOTH_WAYS = "pin both tensors (pin_memory=True), copy with non_blocking=True, wait once"

_LARGE, _ON_AMD = "HtoD (Pageable -> Device) 20us 262144B", "HtoD (Host -> Device) 20us"
_TO, _CALL = "aten::to > aten::copy_", "cudaMemcpyAsync 20us"
_COPIED = copy(_LARGE, op=_TO, call=_CALL)
_UPLOADED = to_gpu("Pageable", 262144, call=_CALL)


class UnpinnedCopy(DevicePattern):
    """Data goes to the GPU from memory that is not pinned, so the host waits for each copy.

    What it does: It finds copies from pageable memory that repeat, in two steps or, where the trace
    has none, with kernels in between. One of them has to have 64 KiB or more; smaller ones at the
    same place count with it, scalars do not. Not reported are a model that moves to the GPU,
    indexes that PyTorch copies by itself, and fills, which are TDY201. Where the same loop calls
    `copy_` from the GPU into a tensor of its own that is not pinned, that counts with it.
    Why it costs: The copy takes twice as long or longer, and meanwhile the host cannot prepare
    anything. Where other work of the GPU covers it nothing is lost.
    Example: `inputs = batch.to("cuda")` on a batch of an ordinary DataLoader, recorded as

        aten::to
          aten::copy_
            cudaMemcpyAsync => Memcpy HtoD (Pageable -> Device)
            cudaStreamSynchronize

    Instead: Pin the memory, with `DataLoader(..., pin_memory=True)` or `tensor.pin_memory()`, and
    copy with `.to(device, non_blocking=True)`.
    Cannot see: It misses many small copies. On AMD it is not checked, because traces do not tell
    pinned memory from other.
    """

    code = "TDY103"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "DataLoader(..., pin_memory=True), then .to(device, non_blocking=True)"
    worth_pinning_nbytes = Option(
        64 * 1024, "up to here CUDA stages a pageable copy in the time that it takes to launch it"
    )
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("each-step", looped(_UPLOADED, WORK, lasts_us=800), events=2, at=AT),
        Fires("small-share", looped(_COPIED, lasts_us=8000), 2, AT, Severity.INFO),
        Quiet("pinned", on_gpu(steps(copy("HtoD (Pinned -> Device) 20us 262144B", op=_TO)))),
        Quiet("small", on_gpu(steps(copy("HtoD (Pageable -> Device) 1us 256B", op=_TO)))),
        Quiet("model-moves", on_gpu(copy(_LARGE, op=_TO) * 3, WORK)),
        Abstains("rocm", "# device 0 AMD-Instinct\n" + steps(copy(_ON_AMD, op=_TO))),
        Abstains("cpu-run", steps("aten::to\n  aten::copy_", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return uploads.unknown_memory(trace)

    def find(self, trace: Trace) -> Matches:
        loop, pageable = loops.Loop(trace), uploads.uploads(trace, copies.PAGEABLE)
        by_place = loop.by_place(pageable, attrgetter("op"))
        groups = [same for same in by_place if self._some_repeat(loop, same)]
        # What goes there and back in one loop is the input and the output of one program.
        back = list(uploads.downloads(trace)) if len(groups) == 1 else []
        way = "from"
        if self._some_repeat(loop, back):
            groups, way = [[*groups[0], *back]], "and back, from and to"
        for same in groups:
            for events, cost, where in uploads.by_window(trace, same, self.warning_from):
                said = f"copied to the GPU {way} memory that is not pinned"
                said += where if way == "from" else ""
                yield Match(events, message=said, cost=cost)

    def _some_repeat(self, loop: loops.Loop, same: Sequence[uploads.Upload]) -> bool:
        large = [each.op for each in same if each.nbytes >= self.worth_pinning_nbytes]
        return any(loop.repeated([op.start_ns for op in large]))

    def fix_of(self, events: Sequence[Event]) -> str:
        trace = events[0].trace
        work = trace.device_rows_under_any(rows_of(events))
        work = work[trace.kind[work] == EventKind.Memcpy]
        goes_back = launches.has_name(trace, "*DtoH*")[trace.name_id[work]].any()
        return _BOTH_WAYS if goes_back else self.fix

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Pinned memory copies about twice as fast, and the host neither stages it nor waits."""
        work = edits.work_of(trace, events)
        work = work[trace.kind[work] == EventKind.Memcpy]
        calls = trace.caller[work]
        work_left, untold = uploads.part_from_pinned(trace, work)
        return Edit(
            "from pinned memory, without a wait",
            host=edits.host_time(trace, calls[calls >= 0]),
            work=work,
            waits=edits.calls_in(trace, events),
            left=edits.REMOVED,
            work_left=work_left,
            untold=untold,
        )
