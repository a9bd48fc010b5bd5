"""Bytes allocated during events, from the profiler's `[memory]` records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind

if TYPE_CHECKING:
    from ..trace import Trace

Rows = NDArray[np.int64]


@dataclass(slots=True)
class MemoryRecords:
    """Allocations (positive) and frees (negative) by time."""

    rows: Rows
    time_ns: NDArray[np.int64]
    cpu_nbytes: NDArray[np.int64]
    device_nbytes: NDArray[np.int64]

    @classmethod
    def of(cls, trace: Trace) -> MemoryRecords:
        rows = trace.rows_of_kind(EventKind.Allocation)
        rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
        nbytes, on_device = trace.nbytes[rows], trace.device[rows] >= 0
        cpu, device = np.where(on_device, 0, nbytes), np.where(on_device, nbytes, 0)
        return cls(rows, trace.start_ns[rows], cpu, device)

    def during(
        self, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(bytes of the CPU, bytes of devices) within each closed interval, on any thread."""
        first = np.searchsorted(self.time_ns, start_ns, "left")
        last = np.searchsorted(self.time_ns, end_ns, "right")
        cpu, device = (
            np.concatenate([[0], np.cumsum(nbytes)])
            for nbytes in (self.cpu_nbytes, self.device_nbytes)
        )
        return cpu[last] - cpu[first], device[last] - device[first]

    def outside(self, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> Rows:
        """Rows of the records in none of the closed intervals: rows `[memory]` of the table."""
        begun = np.searchsorted(np.sort(start_ns), self.time_ns, "right")
        over = np.searchsorted(np.sort(end_ns), self.time_ns, "left")
        found: Rows = self.rows[begun == over]
        return found
