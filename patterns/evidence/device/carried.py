"""Whether each round of a loop needs what the round before made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Capability, Rows, Trace
from tidy.trace.inputs import is_dims

from ..python.op_names import VIEWS
from . import memory
from .round_flow import Flow, flow_of
from .round_gradients import keeps_gradients

_SELECT = "aten::select"
_MOST = 0.8  # of the rounds; the first and the last have no neighbour
_LOOKED_AT = (0.25, 0.5, 0.75)  # rounds of a loop, as parts of it


def may_be_carried(trace: Trace, rows: Rows, period: int) -> bool:
    """Tell whether a round may need what the round before made, beside the sum that it adds to.

    Dims of inputs tell what a round may read of the one before, and lifetimes of memory what it
    keeps for the next. A variable that each round assigns keeps its tensor until then, too, whether
    that needs it or not. A gradient tells: what a round adds to a sum hands none to the round
    before. False where inputs were not recorded.

    Args:
        rows: operators of the loop by start, of which the first selects; `period` make a round.
    """
    if Capability.SHAPES not in trace.capabilities:
        return False
    flow = _most_doubted(trace, rows, period)
    if flow is not None and (flow.writes_back or flow.has_state):
        return True
    if flow is not None and flow.doubted:
        if Capability.MEMORY not in trace.capabilities:
            return True
        if keeps_gradients(trace, rows, period, flow):
            return False
        if _all_keep(trace, rows, period, flow.sizes()):
            return True
    # Each tensor that a round makes was taken to be read in it: what it keeps elsewhere is not.
    is_recorded = Capability.MEMORY in trace.capabilities
    takes_more = is_recorded and _takes_more_than_it_makes(trace, rows[:period])
    return takes_more and _all_keep(trace, rows, period, None)


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


def _all_keep(trace: Trace, rows: Rows, period: int, sizes: NDArray[np.int64] | None) -> bool:
    """Tell whether memory is kept for the next round, wherever a round is taken to begin.

    What is needed by the next round lives at any moment; what one statement makes, and the next one
    takes, lives between these two alone.
    """
    starts = (trace.start_ns[rows[begin::period]] for begin in range(period))
    return all(_keeps(trace, each, sizes) for each in starts)


def _most_doubted(trace: Trace, rows: Rows, period: int) -> Flow | None:
    """Return the flow of the round with most doubt of some; None if that of one is not known."""
    count = len(rows) // period
    begins = sorted({int(part * count) * period for part in _LOOKED_AT})
    flows = [flow_of(trace, rows[begin : begin + period]) for begin in begins]
    known = [each for each in flows if each is not None]
    if len(known) < len(flows):
        return None
    return max(known, key=lambda each: (each.writes_back, not each.is_whole, len(each.doubted)))


def _keeps(trace: Trace, starts_ns: NDArray[np.int64], sizes: NDArray[np.int64] | None) -> bool:
    """Tell whether most rounds take memory of one of these sizes that outlives them.

    Without sizes, memory of any size that the next round gives back.
    """
    for device in (*memory.devices_with_memory(trace), memory.CPU):
        lives = memory.of_device(trace, device)
        own = slice(*np.searchsorted(lives.start_ns, (starts_ns[0], starts_ns[-1])))
        taken_in = np.searchsorted(starts_ns, lives.start_ns[own], side="right") - 1
        freed_in = np.searchsorted(starts_ns, lives.freed_ns[own], side="right") - 1
        if sizes is None:
            is_kept = freed_in == taken_in + 1
        else:
            is_kept = (freed_in > taken_in) & np.isin(lives.nbytes[own], sizes)
        if len(np.unique(taken_in[is_kept])) >= _MOST * (len(starts_ns) - 1):
            return True
    return False
