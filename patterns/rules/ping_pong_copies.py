"""TDY202: data that leaves the GPU and comes back in the same step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Location, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, launches, obstacles
from ..evidence.fixes import edits
from ..evidence.python import frames, loops, places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, copy, on_gpu, steps
from ..option import WORTH_A_WARNING, Option, warning_share

_MOST_SENT = 1_000  # of what is sent before the steps the last copies are looked at
_NAMELESS = 2  # (device, bytes) alone, without shape and dtype
_OFFLOADING = re.compile(r"offload|save_on_cpu|pack_to_cpu", re.IGNORECASE)

_COPY = "aten::to > aten::copy_ | float[4096], float[4096], =False"
_LEAVES = copy("DtoH (Device -> Pageable) 15us 16384B", op=f"{FRAME} > {_COPY}")
_COMES_BACK = copy("HtoD (Pageable -> Device) 15us 16384B", op=f"train.py(20): g > {_COPY}")

_FROM_PINNED = _COMES_BACK.replace("(Pageable", "(Pinned")
_FETCH = f"{frames.FETCH_ALONE} 5us"


class PingPongCopies(DevicePattern):
    """Data is copied from the GPU to the CPU and, in the same step, as much of it back again.

    What it does: It pairs copies from a GPU with later copies of the same number of bytes to it,
    from the same thread in the same step, at the same two places, in two steps. A place that also
    sends data which was not fetched before, such as the next batch, does not count. Neither does a
    batch that a loader fetched in between, nor data that came to pageable memory and is sent from
    pinned memory, nor a place that sent data before the steps, when none had come back. The trace
    does not hold the data: that it is the same follows from its size.
    Without shapes and stacks it is info.
    Why it costs: There are two copies over the bus, and the GPU waits for what the CPU does between
    them.
    Example: `x = torch.from_numpy(numpy.tanh(x.cpu().numpy())).to("cuda")`, recorded as

        aten::copy_  => Memcpy DtoH    of 4 KiB or more
        aten::copy_  => Memcpy HtoD    of as many bytes, of the same shape and dtype

    Instead: Use the torch function for what NumPy does there, or compute it once, before the loop.
    Cannot see: Data that comes back in another shape or dtype. Offloading (`save_on_cpu`,
    parameters kept on the CPU) is meant to do this and is left out where names show it.
    """

    code = "TDY202"
    needs = frozenset({Capability.DEVICE})
    why_no_edit = "the trace does not tell for sure that it is the same data"
    fix = "keep it on the GPU: use torch there instead of NumPy or Python"
    least_nbytes = Option(
        4096, "smaller copies are numbers that are read, and others that are sent"
    )
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("numpy", on_gpu(steps(_LEAVES, _COMES_BACK, count=2, lasts_us=200)), events=2, at=AT),
        Quiet("next-batch", on_gpu(steps(_COMES_BACK, _LEAVES, count=2))),
        Quiet("fetched-in-between", on_gpu(steps(_LEAVES, _FETCH, _COMES_BACK, count=2))),
        Quiet("from-pinned-memory", on_gpu(steps(_LEAVES, _FROM_PINNED))),
        Abstains("no-steps", on_gpu(_LEAVES, _COMES_BACK)),
        Abstains("cpu-run", steps("aten::copy_", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        down, up = copies.copy_rows(trace, "DtoH"), copies.copy_rows(trace, "HtoD")
        if not len(down) or not len(up):
            return None
        if not trace.nbytes[down].any() or not trace.nbytes[up].any():
            return NotChecked(
                "the trace does not say how large copies are",
                "record with a version of PyTorch or ROCm that writes the bytes of copies",
            )
        return None if trace.steps else obstacles.not_recorded(trace, Capability.STEPS)

    def find(self, trace: Trace) -> Matches:
        known = list(_uploads(trace, self.least_nbytes))
        alone = {(up.place, up.tensor) for down, up in known if down is None}
        pairs = [(down, up) for down, up in known if down is not None]
        sent = _sent_before(trace, self.least_nbytes) if pairs else set()
        pairs = [(down, up) for down, up in pairs if up.place not in sent]
        for same in places.grouped(pairs, _places):
            is_once = len({down.step for down, _ in same}) < loops.FEWEST_STEPS
            if is_once or any((up.place, up.tensor) in alone for _, up in same):
                continue
            above = (each.name for copy in same[0] for each in trace.event(copy.op).ancestors())
            if not any(map(_OFFLOADING.search, above)):
                for part in places.by_window(same, lambda pair: trace.event(pair[0].row)):
                    yield self._match(trace, part)

    def _match(self, trace: Trace, pairs: list[tuple[_Copy, _Copy]]) -> Match:
        (down, up), steps = pairs[0], len({each.step for each, _ in pairs})
        shaped = all(len(each.tensor) > _NAMELESS for each, _ in pairs)
        firm = shaped and down.place is not None and up.place is not None
        back = f" in {up.place}" if up.place is not None and up.place != down.place else ""
        ops = list(trace.events(each.op for pair in pairs for each in pair))
        return Match(
            list(trace.events(down.row for down, _ in pairs)),
            message=f"copied to the CPU, and as much back to the GPU{back}, in {steps} steps",
            edit=edits.without_ops(trace, ops, "neither copy", edits.REMOVED) if firm else None,
            severity=self.warning_from if firm else Severity.INFO,
            cost=[copy.row for pair in pairs for copy in pair],
        )


class _Copy(NamedTuple):
    """One copy, and what tells whether another one may be its way back."""

    row: int
    op: int
    is_download: bool
    step: int
    place: Location | None
    tensor: tuple[object, ...]


def _places(pair: tuple[_Copy, _Copy]) -> tuple[object, ...]:
    """Tell where data leaves and comes back; what data that is, where a place is not known."""
    down, up = pair
    return down.place, up.place, None if down.place and up.place else down.tensor


def _uploads(trace: Trace, least_nbytes: int) -> Iterator[tuple[_Copy | None, _Copy]]:
    """Each copy to a device, after the last one before it that may have brought its data.

    Both are in one step and on one thread, and a copy is taken once. Where a loader fetched a batch
    between them the second sends that batch, and what is in pinned memory did not come from other.
    """
    fetched_ns = np.sort(trace.start_ns[trace.rows_named(frames.FETCH)])
    pageable = set(trace.rows_named("Memcpy DtoH (* -> Pageable)*").tolist())
    pinned = set(trace.rows_named(copies.PINNED).tolist())
    waiting: dict[tuple[object, ...], list[_Copy]] = {}
    for each in _copies(trace, least_nbytes):
        thread = int(trace.track_id[each.op])
        same = waiting.setdefault((each.step, thread, *each.tensor), [])
        if each.is_download:
            same.append(each)
        else:
            down = same.pop() if same else None
            if down is not None:
                before, after = np.searchsorted(fetched_ns, trace.start_ns[[down.op, each.op]])
                if after > before or (down.row in pageable and each.row in pinned):
                    down = None
            yield down, each


def _sent_before(trace: Trace, least_nbytes: int) -> set[Location | None]:
    """The places that sent data before any had come back, outside of the steps: data of its own."""
    down, up = copies.copy_rows(trace, "DtoH"), copies.copy_rows(trace, "HtoD")
    first_ns, up = trace.start_ns[down].min(), up[trace.nbytes[up] >= least_nbytes]
    up = up[(trace.start_ns[up] < first_ns) & ~trace.step_time.contains(trace.start_ns[up])]
    ops = trace.launching_ops(up)
    return {trace.location(op) for op in ops[ops >= 0][-_MOST_SENT:].tolist()} - {None}


def _copies(trace: Trace, least_nbytes: int) -> Iterator[_Copy]:
    """Copies of some size, of which the op and the step are known, by start."""
    down = copies.copy_rows(trace, "DtoH")
    rows = np.concatenate([down, copies.copy_rows(trace, "HtoD")])
    rows = launches.by_start(trace, rows[trace.nbytes[rows] >= least_nbytes])
    ops = trace.launching_ops(rows)
    steps_of_ops = loops.step_of(trace, trace.start_ns[np.maximum(ops, 0)])
    known = (ops >= 0) & (steps_of_ops >= 0)
    is_download = np.isin(rows, down)
    rows, ops = rows[known], ops[known]
    is_copy = launches.has_name(trace, "aten::copy_")[trace.name_id[ops]]
    inputs = np.where(is_copy, trace.inputs_id[ops], -1)
    of_ops = is_download[known], steps_of_ops[known]
    columns = rows, ops, *of_ops, trace.device[rows], trace.nbytes[rows], inputs
    copied = cache(partial(_copied, trace))
    for row, op, downwards, step, device, nbytes, inputs_id in zip(
        *(each.tolist() for each in columns), strict=True
    ):
        tensor = device, nbytes, *copied(inputs_id)
        yield _Copy(row, op, downwards, step, trace.location(op), tensor)


def _copied(trace: Trace, inputs_id: int) -> tuple[object, ...]:
    """The shape and the dtype of what `aten::copy_` copies, where they were recorded."""
    shapes, dtypes = trace.inputs.shapes(inputs_id), trace.inputs.dtypes(inputs_id)
    return (shapes[1], dtypes[1]) if len(shapes) > 1 and len(dtypes) > 1 else ()
