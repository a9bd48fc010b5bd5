"""TDY202: data that leaves the GPU and comes back in the same step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Capability, Event, Location, Trace, remedy

from ..base import Pattern
from ..copies import download_rows, upload_rows
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device
from ..launches import launching_ops
from ..timing import severity_by_share, step_of

_LEAST_NBYTES = 4096
_FEWEST_STEPS = 2
_NAMELESS = 2  # (device, bytes) alone, without shape and dtype
_OFFLOADING = re.compile(r"offload|save_on_cpu|pack_to_cpu", re.IGNORECASE)


class _Copy(NamedTuple):
    """One copy, and what tells whether another one may be its way back."""

    row: int
    op: int
    is_download: bool
    step: int
    tensor: tuple[object, ...]


class _Place(NamedTuple):
    down: Location | None
    up: Location | None
    tensor: tuple[object, ...] | None  # where there are no locations


class PingPongCopies(Pattern):
    """Data is copied from the GPU to the CPU and, in the same step, as much of it back again.

        aten::copy_  => Memcpy DtoH    of 4 KiB or more
        aten::copy_  => Memcpy HtoD    as many bytes, of the same shape and dtype, to that device,
                                       from the same thread, at the same two places, in two steps
        NOT at a place that also sends data which was not fetched before, such as the next batch

    The trace does not hold the data itself: that it is the same follows from its size. Below 5 % of
    the step, and without shapes and stacks, it is said as info.

    Cost: two copies over the bus, and a GPU that waits for what the CPU does between them.
    Instead: the torch function for what NumPy does there; or compute it once, before the loop.
    Misses: data that comes back in another shape or dtype. Offloading (`save_on_cpu`, parameters
    kept on the CPU) is meant to do this and is left out where names show it.
    """

    code = "TDY202"
    needs = frozenset({Capability.DEVICE})
    fix = "keep it on the GPU: use torch there instead of NumPy or Python"
    examples = (
        Fires(
            "numpy",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 200us
              train.py(8): loss_of
                aten::to
                  aten::copy_ | float[4096], float[4096], =False
                    cudaMemcpyAsync
                      => Memcpy DtoH (Device -> Pageable) 15us 16384B
              train.py(20): train
                aten::to
                  aten::copy_ | float[4096], float[4096], =False
                    cudaMemcpyAsync
                      => Memcpy HtoD (Pageable -> Device) 15us 16384B
            ProfilerStep#2 200us
              train.py(8): loss_of
                aten::to
                  aten::copy_ | float[4096], float[4096], =False
                    cudaMemcpyAsync
                      => Memcpy DtoH (Device -> Pageable) 15us 16384B
              train.py(20): train
                aten::to
                  aten::copy_ | float[4096], float[4096], =False
                    cudaMemcpyAsync
                      => Memcpy HtoD (Pageable -> Device) 15us 16384B
            """,
            events=2,
            at="train.py:8",
        ),
        Quiet(
            "next-batch",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 200us
              aten::copy_ | float[4096], float[4096], =False
                cudaMemcpyAsync
                  => Memcpy HtoD (Pageable -> Device) 1us 16384B
              aten::copy_ | float[4096], float[4096], =False
                cudaMemcpyAsync
                  => Memcpy DtoH (Device -> Pageable) 1us 16384B
            ProfilerStep#2 200us
              aten::copy_ | float[4096], float[4096], =False
                cudaMemcpyAsync
                  => Memcpy HtoD (Pageable -> Device) 1us 16384B
              aten::copy_ | float[4096], float[4096], =False
                cudaMemcpyAsync
                  => Memcpy DtoH (Device -> Pageable) 1us 16384B
            """,
        ),
        Abstains(
            "no-steps",
            """
            # device 0 NVIDIA A100 8.0
            aten::copy_ | float[4096], float[4096], =False
              cudaMemcpyAsync
                => Memcpy DtoH (Device -> Pageable) 1us 16384B
            aten::copy_ | float[4096], float[4096], =False
              cudaMemcpyAsync
                => Memcpy HtoD (Pageable -> Device) 1us 16384B
            """,
        ),
        Abstains("cpu-run", "ProfilerStep#1\n  aten::copy_"),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if obstacle is not None:
            return obstacle
        down, up = download_rows(trace), upload_rows(trace)
        if not len(down) or not len(up):
            return None
        if not trace.nbytes[down].any() or not trace.nbytes[up].any():
            return NotChecked(
                "the trace does not say how large copies are",
                "record with a version of PyTorch or ROCm that writes the bytes of copies",
            )
        return None if trace.steps else NotChecked("no steps recorded", remedy([Capability.STEPS]))

    def check(self, trace: Trace) -> Iterable[Finding]:
        places: dict[_Place, list[tuple[_Copy, _Copy]]] = {}
        alone: set[tuple[Location | None, tuple[object, ...]]] = set()
        for down, up in _uploads(trace):
            if down is None:
                alone.add((trace.location(up.op), up.tensor))
                continue
            at, back = trace.location(down.op), trace.location(up.op)
            known = at is not None and back is not None
            place = _Place(at, back, None if known else down.tensor)
            places.setdefault(place, []).append((down, up))
        for place, pairs in places.items():
            count = len({down.step for down, _ in pairs})
            comes_back = not any((place.up, up.tensor) in alone for _, up in pairs)
            if count >= _FEWEST_STEPS and comes_back and not _is_offloading(trace, pairs[0]):
                yield self._finding(trace, place, pairs, count)

    def _finding(
        self, trace: Trace, place: _Place, pairs: list[tuple[_Copy, _Copy]], steps: int
    ) -> Finding:
        rows = [copy.row for pair in pairs for copy in pair]
        time = trace.time_of(rows)
        firm = place.tensor is None and all(len(down.tensor) > _NAMELESS for down, _ in pairs)
        back = f" in {place.up}" if place.up is not None and place.up != place.down else ""
        return self.report(
            trace,
            list(trace.events(down.row for down, _ in pairs)),
            message=f"copied to the CPU, and as much back to the GPU{back}, in {steps} steps",
            severity=severity_by_share(trace.step_share(time)) if firm else Severity.INFO,
            cost_rows=rows,
            saving=Saving(0, time.total_ns, "the copies, where the GPU waits for them"),
        )


def _uploads(trace: Trace) -> Iterator[tuple[_Copy | None, _Copy]]:
    """Each copy to a device, after the last one before it that may have brought its data.

    Both are in one step and on one thread, and a copy is taken once.
    """
    waiting: dict[tuple[object, ...], list[_Copy]] = {}
    for copy in _copies(trace):
        thread = int(trace.track_id[copy.op])
        same = waiting.setdefault((copy.step, thread, *copy.tensor), [])
        if copy.is_download:
            same.append(copy)
        else:
            yield same.pop() if same else None, copy


def _copies(trace: Trace) -> Iterator[_Copy]:
    """Copies of some size, of which the op and the step are known, by start."""
    down = download_rows(trace)
    rows = np.concatenate([down, upload_rows(trace)])
    rows = rows[trace.nbytes[rows] >= _LEAST_NBYTES]
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    ops = launching_ops(trace, rows)
    steps = step_of(trace, trace.start_ns[np.maximum(ops, 0)])
    known = (ops >= 0) & (steps >= 0)
    is_download = np.isin(rows, down)
    columns = (each[known].tolist() for each in (rows, ops, is_download, steps))
    for row, op, downwards, step in zip(*columns, strict=True):
        yield _Copy(row, op, downwards, step, _tensor(trace.event(row), trace.event(op)))


def _tensor(copy: Event, op: Event) -> tuple[object, ...]:
    """(device, bytes), and the shape and dtype of what is copied where they were recorded."""
    if op.name == "aten::copy_" and len(op.input_shapes) > 1 and len(op.input_dtypes) > 1:
        return copy.device, copy.nbytes, op.input_shapes[1], op.input_dtypes[1]
    return copy.device, copy.nbytes


def _is_offloading(trace: Trace, pair: tuple[_Copy, _Copy]) -> bool:
    above = (each.name for copy in pair for each in trace.event(copy.op).ancestors())
    return any(map(_OFFLOADING.search, above))
