"""TDY102: worker processes that load batches too slowly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, NotApplicable, NotChecked, Saving
from tidy.trace import Capability, Event, Trace, remedy

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import is_modelled, without_device
from ..timing import covered_ns, device_idle, severity_by_share, step_of

_FETCH = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
_ITERATOR = "*torch/utils/data/dataloader.py(*): _get_iterator"
# Shares of the step; XProf calls a run moderately input-bound from 5 % on.
_WORTH_SAYING = 0.05
_WORTH_A_WARNING = 0.10
# Fetches that do not open an epoch; the longest of them is left out.
_FEWEST = 2


class DataLoaderBottleneck(Pattern):
    """The GPU waits for batches although worker processes load them.

        enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__     most batches
        no device has work meanwhile

    The first batch that was recorded does not count, nor the first of an iterator that was made
    while recording, nor the batch that took longest: where an epoch begins the workers have nothing
    ready yet. What is left has to be 5 % of its steps (info) or 10 % (a warning).

    Cost: the time of the fetches in which no GPU has work.
    Instead: more `num_workers`, a larger `prefetch_factor`, cheaper transforms (or on the GPU),
    fewer and larger files; `persistent_workers=True` for the start of each epoch.
    Misses: windows of two batches or less; loaders of other libraries; runs without steps. One
    worker in turn may be slow because the disk is. With a modelled device it is not checked: the
    workers run in real time, beside a training process whose time is the model's.
    """

    code = "TDY102"
    needs = frozenset[Capability]()
    fix = "raise num_workers or prefetch_factor, or make the transforms cheaper"
    examples = (
        Fires(
            "waits",
            """
            # device 0 NVIDIA A100 8.0
            train.py(3): train
              ProfilerStep#1 120us
                enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us
                aten::mm 30us
                  cudaLaunchKernel
                    => gemm 40us
              ProfilerStep#2 120us
                enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us
                aten::mm 30us
                  cudaLaunchKernel
                    => gemm 40us
              ProfilerStep#3 120us
                enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us
                aten::mm 30us
                  cudaLaunchKernel
                    => gemm 40us
              ProfilerStep#4 120us
                enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us
                aten::mm 30us
                  cudaLaunchKernel
                    => gemm 40us
            """,
            events=4,
            at="train.py:3",
        ),
        Quiet(
            "one-slow-batch",
            """
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 90us
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 2us
              aten::mm 30us
                cudaLaunchKernel
                  => gemm 40us
            ProfilerStep#2 900us
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 800us
              aten::mm 30us
                cudaLaunchKernel
                  => gemm 40us
            ProfilerStep#3 90us
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 2us
              aten::mm 30us
                cudaLaunchKernel
                  => gemm 40us
            ProfilerStep#4 90us
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 2us
              aten::mm 30us
                cudaLaunchKernel
                  => gemm 40us
            """,
        ),
        Abstains(
            "no-steps",
            """
            # device 0 NVIDIA A100 8.0
            enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us
            aten::mm 30us
              cudaLaunchKernel
                => gemm 40us
            """,
        ),
        Abstains(
            "modelled",
            """
            # tidy_modelled_device true
            # device 0 NVIDIA A100 8.0
            ProfilerStep#1 120us
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us
              aten::mm 30us
                cudaLaunchKernel
                  => gemm 40us
            """,
        ),
        Abstains(
            "cpu-run",
            """
            ProfilerStep#1
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 90us
            """,
        ),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        obstacle = without_device(trace)
        if isinstance(obstacle, NotApplicable) or not len(trace.rows_named(_FETCH)):
            return obstacle if isinstance(obstacle, NotApplicable) else None
        if obstacle is None and is_modelled(trace):
            return NotChecked(
                "workers run in real time, beside a modelled device", "record on the device itself"
            )
        if obstacle is None and not trace.steps:
            return NotChecked("no steps recorded", remedy([Capability.STEPS]))
        return obstacle

    def check(self, trace: Trace) -> Iterable[Finding]:
        made = np.sort(trace.end_ns[trace.rows_named(_ITERATOR)])
        places: dict[object, list[Event]] = {}
        for event in trace.named(_FETCH):
            places.setdefault(event.location, []).append(event)
        for events in places.values():
            rows = np.array([event.row for event in events])
            rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
            share = _steady_share(trace, rows, made)
            if share >= _WORTH_SAYING:
                yield self._finding(trace, events, share)

    def _finding(self, trace: Trace, events: list[Event], share: float) -> Finding:
        time = trace.time_of(event.row for event in events)
        idle = time & device_idle(trace)
        return self.report(
            trace,
            events,
            message=f"the GPU waits for the workers of the DataLoader in {share:.0%} of the steps",
            severity=severity_by_share(share, _WORTH_A_WARNING),
            saving=Saving(0, idle.total_ns, "fetch time in which no device works"),
        )


def _steady_share(trace: Trace, rows: NDArray[np.int64], made_ns: NDArray[np.int64]) -> float:
    """The part of their steps in which devices wait for fetches, without those that may open an
    epoch.

    Args:
        rows: the fetches by start.
        made_ns: when iterators were made.
    """
    starts, ends = trace.start_ns[rows], trace.end_ns[rows]
    idle = covered_ns(device_idle(trace), starts, ends)
    steps = step_of(trace, starts)
    opens = np.zeros(len(rows), bool)
    opens[0] = True
    opens[1:] = np.searchsorted(made_ns, starts[1:]) > np.searchsorted(made_ns, starts[:-1])
    steady = np.flatnonzero(~opens & (steps >= 0))
    if len(steady) < _FEWEST:
        return 0.0
    steady = np.delete(steady, np.argmax(idle[steady]))
    lengths = np.array([step.duration_ns for step in trace.steps])
    return float(idle[steady].sum() / lengths[np.unique(steps[steady])].sum())
