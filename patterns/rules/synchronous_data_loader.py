"""TDY101: a DataLoader without worker processes."""

from __future__ import annotations

from collections.abc import Iterable

from tidy.finding import Finding, Saving, Severity
from tidy.trace import Capability, Event, Trace

from ..base import Pattern
from ..examples import Fires, Quiet
from ..hardware import idle_under

_LOADER = "*torch/utils/data/dataloader.py(*): "
_WORKERS = "torch/utils/data/dataloader.py"
# Below this share of the step a loader is no bottleneck; the 5 % of Kineto's TensorBoard plug-in.
_WORTH_A_WARNING = 0.05


class SynchronousDataLoader(Pattern):
    """A DataLoader fetches each batch in the training process, while nothing else happens.

        enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__      every batch

        torch/utils/data/dataloader.py(...): __iter__                    with Python stacks
          torch/utils/data/dataloader.py(...): _get_iterator
            NOT torch/utils/data/dataloader.py(...): check_worker_number_rationality

    Cost: the time of the fetches in which no GPU has work. Below 5 % of the step, or with a GPU
    that is busy meanwhile, it is said as info.
    Instead: `DataLoader(..., num_workers=N)`, with `persistent_workers=True` over several epochs
    and `pin_memory=True` for a GPU.
    Misses: loops that read and collate without a DataLoader; loaders of other libraries. A data set
    already in memory may be faster with plain tensor indexing than with workers.
    """

    code = "TDY101"
    needs = frozenset[Capability]()
    fix = "DataLoader(..., num_workers=N), N near the number of free CPU cores"
    examples = (
        Fires(
            "fetches",
            """
            train.py(3): train
              ProfilerStep#1
                enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 400us
                aten::mm 200us
              ProfilerStep#2
                enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 400us
                aten::mm 200us
            """,
            events=2,
            at="train.py:3",
        ),
        Fires(
            "iterator",
            """
            train.py(3): train
              torch/utils/data/dataloader.py(492): __iter__
                torch/utils/data/dataloader.py(425): _get_iterator
                  torch/utils/data/dataloader.py(760): __init__
            """,
            at="train.py:3",
            severity=Severity.INFO,
        ),
        Fires(
            "small-share",
            """
            ProfilerStep#1
              enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 10us
              aten::mm 900us
            """,
            severity=Severity.INFO,
        ),
        Quiet(
            "workers",
            """
            train.py(3): train
              torch/utils/data/dataloader.py(492): __iter__
                torch/utils/data/dataloader.py(425): _get_iterator
                  torch/utils/data/dataloader.py(593): check_worker_number_rationality
                  torch/utils/data/dataloader.py(1080): __init__
              enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 40us
            """,
        ),
    )

    def check(self, trace: Trace) -> Iterable[Finding]:
        fetches = trace.named("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
        iterators = filter(_has_no_workers, trace.named(_LOADER + "__iter__"))
        places: dict[object, list[Event]] = {}
        for event in (*fetches, *iterators):
            places.setdefault(event.location, []).append(event)
        for events in places.values():
            yield self._finding(trace, events)

    def _finding(self, trace: Trace, events: list[Event]) -> Finding:
        fetches = [event.row for event in events if event.name.startswith("enumerate(")]
        time = trace.time_of(fetches)
        idle = idle_under(trace, time) if trace.devices_used else time
        share = trace.step_share(idle) or 0.0
        waiting = "while the GPU waits" if trace.devices_used else "in the training process"
        return self.report(
            trace,
            events,
            message=(
                f"batches are loaded {waiting}"
                if fetches
                else "a DataLoader without workers is set up here"
            ),
            severity=Severity.WARNING if share >= _WORTH_A_WARNING else Severity.INFO,
            cost_rows=fetches,
            saving=Saving(0, idle.total_ns, "fetch time in which no device works"),
        )


def _has_no_workers(iterator: Event) -> bool:
    """Whether an `__iter__` makes an iterator, and makes it without asking about workers."""
    for call in iterator.children[:1]:
        if call.name.endswith(": _get_iterator") and _WORKERS in call.name:
            inner = call.children
            return bool(inner) and not inner[0].name.endswith(": check_worker_number_rationality")
    return False
