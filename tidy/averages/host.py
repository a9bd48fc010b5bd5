"""Function events of the host: their tree, and times and memory with and without children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .device import launched_ns
from .memory import MemoryRecords
from .nesting import nest, repeated, representatives
from .select import by_start, host_rows

if TYPE_CHECKING:
    from ..trace import Trace

Column = NDArray[np.int64]


@dataclass(slots=True)
class HostEvents:
    """n events of the host, by thread and then depth-first.

    Attributes:
        rows: the trace's row of each.
        parent: index of the event around it, -1 for none.
        columns: `cpu_ns`, `device_ns`, `cpu_nbytes`, `device_nbytes` and the same after `self_`.
        lone_records: the trace's rows of memory records during no event.
    """

    rows: Column
    parent: Column
    columns: dict[str, Column]
    lone_records: Column


def measure_host(trace: Trace, key_of_name: NDArray[np.int32]) -> HostEvents:
    """Nest the events of the host and add up what they took."""
    rows = by_start(trace, host_rows(trace))
    rows = rows[np.argsort(trace.track_id[rows], kind="stable")]
    start, end = trace.start_ns[rows], trace.end_ns[rows]
    nesting = nest(start, end, trace.track_id[rows])
    removed = repeated(nesting, key_of_name[trace.name_id[rows]])
    counted_as = representatives(nesting, removed)
    parent = np.where(nesting.parent >= 0, counted_as[np.maximum(nesting.parent, 0)], -1)

    position = np.full(len(trace), -1, np.int64)
    position[rows] = counted_as
    records = MemoryRecords.of(trace)
    cpu_nbytes, device_nbytes = records.during(start, end)
    totals = {
        "cpu_ns": end - start,
        "device_ns": nesting.sum_below(launched_ns(trace, position, len(rows))),
        "cpu_nbytes": cpu_nbytes,
        "device_nbytes": device_nbytes,
    }
    inner = np.flatnonzero(~removed & (parent >= 0))
    columns = dict(totals)
    for name, total in totals.items():
        own = total.copy()
        np.subtract.at(own, parent[inner], total[inner])
        columns[f"self_{name}"] = own

    kept = np.flatnonzero(~removed)
    index = np.cumsum(~removed) - 1
    return HostEvents(
        rows[kept],
        np.where(parent[kept] >= 0, index[np.maximum(parent[kept], 0)], -1),
        {name: column[kept] for name, column in columns.items()},
        records.outside(start, end),
    )
