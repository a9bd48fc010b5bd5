"""A loop over a loader with worker processes, simulated: what the main thread and they did.

Workers take so long for a batch, the loop takes so long for a step, and batches are delivered in
order, each so long after it was made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidy
from tidy import Trace

from .kineto import call, kernel, mark, op

FETCH = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
_MS = 1000  # microseconds


@dataclass(frozen=True)
class Loop:
    """A loop that takes `step_ms` for a step beside its fetch, and its loader's workers."""

    workers: int = 2
    batch_ms: float = 40
    step_ms: float = 5
    receive_ms: float = 0
    slow: tuple[int, ...] = ()  # batches that take eight times as long
    prefetch: int = 2
    count: int = 24
    cpu_share: float = 0.0
    queued_share: float = 0.0
    beside_share: float = 0.0
    crowd_share: float = 0.0  # of the script's threads
    cpu_count: int = 32
    started_ms: float = 0  # when the first batch begins
    is_modelled: bool = False  # the device, which works in each step
    functions: tuple[dict[str, Any], ...] = ()  # seen in the workers, as the header has them

    def written(self) -> list[dict[str, Any]]:
        """The loop and its workers, simulated: events of Kineto's format."""
        lengths = [self.batch_ms * (8 if n in self.slow else 1) for n in range(self.count)]
        free = [self.started_ms] * self.workers
        asked = [0.0] * self.count  # when a worker may begin a batch
        made, now, events = list[float](), 0.0, [op("aten::mm", 0, 1)]
        ranges = []
        for number in range(self.count):
            # Batches are handed out in turn; the loop asks for one more as it takes one.
            for ahead in range(len(made), min(number + self.prefetch * self.workers, self.count)):
                worker = ahead % self.workers
                begin = max(free[worker], asked[ahead])
                free[worker] = begin + lengths[ahead]
                made.append(free[worker])
                ranges.append((worker, ahead, begin, lengths[ahead]))
            taken = max(now, made[number]) + self.receive_ms
            events += [
                mark(f"ProfilerStep#{number}", now * _MS, (taken + self.step_ms - now) * _MS),
                mark(FETCH, now * _MS, (taken - now) * _MS),
            ]
            follows = number + self.prefetch * self.workers
            if follows < self.count:
                asked[follows] = taken
            if self.is_modelled:
                events.append(call("cudaLaunchKernel", taken * _MS, 10, number + 1))
                events.append(kernel("gemm", taken * _MS + 20, 500, correlation=number + 1))
            now = taken + self.step_ms
        for worker, number, begin, length in ranges:
            name, tid = f"DataLoader worker {worker}: batch {number}", 900 + worker
            written = mark(name, begin * _MS, length * _MS)
            events.append({**written, "cat": "dataloader_worker", "tid": tid})
        return events

    def header(self) -> dict[str, Any]:
        mean_ms = self.batch_ms * (self.count + 7 * len(self.slow)) / self.count
        loader = {
            "pids": [900 + n for n in range(self.workers)],
            "num_workers": self.workers,
            "batch_ns": int(mean_ms * 1e6),
            "cpu_share": self.cpu_share,
            "queued_share": self.queued_share,
            "beside_share": self.beside_share,
        }
        if self.functions:
            loader |= {"sampled_ns": 10**9, "sampled_batches": self.count}
            loader["functions"] = list(self.functions)
        return {"cpu_count": self.cpu_count, "loaders": [loader]}

    def trace(self, folder: Path) -> Trace:
        path = folder / "trace.json"
        document = {"tidy_loader_workers": self.header(), "traceEvents": self.written()}
        document["tidy_queued_share"] = self.crowd_share
        if self.is_modelled:
            device = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0}
            document |= {"tidy_modelled_device": True, "deviceProperties": [device]}
        path.write_text(json.dumps(document), "utf-8")
        return tidy.load(path)
