"""Time of devices, by the host event that launched the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind

if TYPE_CHECKING:
    from ..trace import Trace

Indexes = NDArray[np.int64]


def launched_ns(trace: Trace, position: Indexes, count: int) -> NDArray[np.int64]:
    """Device time launched by each of `count` host events itself, not by what is below it.

    Args:
        trace: the trace.
        position: for each row of the trace its place among the host events, -1 for none.
    """
    rows = trace.device_rows
    op = trace.caller[rows].astype(np.int64)
    is_call = op >= trace.tree_count
    op = np.where(is_call, trace.caller[np.maximum(op, 0)], op)
    # Where the launching row is not listed, its nearest listed ancestor counts.
    while (unlisted := (op >= 0) & (position[op] < 0)).any():
        op[unlisted] = trace.parent[op[unlisted]]
    rows, op = rows[op >= 0], op[op >= 0]
    result = np.zeros(count, np.int64)
    np.add.at(result, position[op], trace.duration_ns[rows])
    return result


def use_device(trace: Trace) -> str | None:
    """PyTorch's word for the devices that were recorded, which is "cuda" for AMD's too."""
    uses_memory = bool((trace.nbytes[trace.device >= 0] != 0).any())
    if not len(trace.device_rows) and not uses_memory:
        return None
    calls = (trace.names[i] for i in np.unique(trace.name_id[trace.kind == EventKind.Runtime]))
    return "xpu" if any(name.startswith(("ur", "ze")) for name in calls) else "cuda"
