"""What PyTorch says of a collective (group, sequence number, size), at the operators around it."""

from __future__ import annotations

import numpy as np

from ..trace import Rows, Trace
from ..trace.inputs import CollectiveArgs

_LEVELS = 3  # c10d::allreduce_ holds record_param_comms, and that nccl:all_reduce


def said_of_collectives(trace: Trace, op: Rows) -> tuple[list[CollectiveArgs], Rows]:
    """Find what is said of each collective: what different ones there are, and which is whose.

    It stands at the operator that launches, or at one of those around it.
    """
    found = np.full(len(op), -1)
    said, number = list[CollectiveArgs](), dict[int, int]()
    left = op.copy()
    for _ in range(_LEVELS):
        inputs = np.where(left >= 0, trace.inputs_id[left], -1)
        for each in np.unique(inputs).tolist():
            if each not in number:
                args = trace.inputs.collective(each)
                number[each] = -1 if args is None else len(said)
                said += [] if args is None else [args]
        keys = np.array(list(number), np.int64)
        order = np.argsort(keys)
        values = np.array(list(number.values()), np.int64)[order]
        here = values[np.searchsorted(keys[order], inputs)] if len(keys) else found
        found = np.where(found < 0, here, found)
        left = np.where(left >= 0, trace.parent[left], -1)
    return said, found
