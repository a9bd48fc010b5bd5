"""Whether each round of a loop needs what the round before made."""

from __future__ import annotations

import numpy as np

from tidy.trace import Capability, Rows, Trace
from tidy.trace.inputs import is_dims

from ..python.op_names import VIEWS
from . import memory

_SELECT = "aten::select"
_MOST = 0.8  # of the rounds; the first and the last have no neighbour


def is_carried(trace: Trace, rows: Rows, period: int) -> bool:
    """Tell whether rounds take a tensor that they do not make, and keep one for the next.

    A variable that each round assigns also keeps its tensor until the next one, so both are
    required.
    False where shapes and memory were not recorded, and for sums of single numbers.

    Args:
        rows: operators of the loop by start, of which the first selects; `period` make a round.
    """
    if not trace.capabilities >= {Capability.SHAPES, Capability.MEMORY}:
        return False
    if not _takes_more_than_it_makes(trace, rows[:period]):
        return False
    # What is needed by the next round lives at any moment; what one statement makes, and the next
    # one takes, lives between these two alone.
    return all(_keeps(trace, rows[begin::period]) for begin in range(period))


def _takes_more_than_it_makes(trace: Trace, a_round: Rows) -> bool:
    taken, made, is_last_new = 0, 0, False
    for row in a_round.tolist():
        event = trace.event(row)
        is_last_new = not event.name.endswith("_")
        made += is_last_new
        if event.name != _SELECT:
            # A number of Python's is recorded as a tensor without dims, too.
            count = sum(is_dims(dims) and dims != () for dims in event.input_shapes or ())
            taken += min(count, 1) if event.name in VIEWS else count
    return taken > made - is_last_new


def _keeps(trace: Trace, firsts: Rows) -> bool:
    """Tell whether most rounds take memory that the one after gives back."""
    starts = trace.start_ns[firsts]
    for device in (*memory.devices_with_memory(trace), memory.CPU):
        lives = memory.of_device(trace, device)
        own = slice(*np.searchsorted(lives.start_ns, (starts[0], starts[-1])))
        taken_in = np.searchsorted(starts, lives.start_ns[own], side="right") - 1
        freed_in = np.searchsorted(starts, lives.freed_ns[own], side="right") - 1
        kept = np.unique(taken_in[freed_in == taken_in + 1])
        if len(kept) >= _MOST * (len(firsts) - 1):
            return True
    return False
