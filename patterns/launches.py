"""Which op launched which device work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Trace


def launching_ops(trace: Trace, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each device row the innermost tree row that launched it, -1 where that is not known."""
    caller = trace.caller.astype(np.int64)
    launch = caller[rows]
    via_call = launch >= trace.tree_count
    return np.where(via_call, caller[np.maximum(launch, 0)], launch)
