"""Whether each round of a loop needs what the round before made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Capability, Rows, Trace

from . import memory
from .round_flow import Flow, flow_of
from .round_gradients import keeps_gradients

_MOST = 0.8  # of the rounds; the first and the last have no neighbour
_LOOKED_AT = (0.25, 0.5, 0.75)  # rounds of a loop, as parts of it
# Multiplications that take hardly longer than any operator does.
_LARGEST_PRODUCT = 1_000_000


class Links(NamedTuple):
    """How a round of a loop hangs together with the one before.

    Attributes:
        may_carry: whether it may need what that made, beside the sum that it adds to.
        is_sum_of_small: whether it surely needs no more than that, and has no large product.
    """

    may_carry: bool
    is_sum_of_small: bool


def links_of_rounds(trace: Trace, rows: Rows, period: int) -> Links:
    """Tell how rounds hang together, from the dims of their inputs and the lifetimes of memory.

    A variable that each round assigns keeps its tensor until the next one, whether that needs it
    or not. A gradient tells: what a round adds to a sum hands none to the round before.

    Args:
        rows: operators of the loop by start, of which the first selects; `period` make a round.
    """
    flow = _most_doubted(trace, rows, period)
    if flow is None:
        return Links(may_carry=False, is_sum_of_small=False)
    is_small = flow.largest_product <= _LARGEST_PRODUCT
    if flow.writes_back or not flow.doubted:
        is_sum = flow.is_whole and not flow.writes_back
        return Links(flow.writes_back, is_sum and is_small)
    if Capability.MEMORY not in trace.capabilities:
        return Links(may_carry=False, is_sum_of_small=False)
    if keeps_gradients(trace, rows, period, flow):
        return Links(may_carry=False, is_sum_of_small=is_small)
    # What is needed by the next round lives at any moment; what one statement makes, and the next
    # one takes, lives between these two alone.
    sizes, starts = flow.sizes(), (trace.start_ns[rows[begin::period]] for begin in range(period))
    return Links(all(_keeps(trace, each, sizes) for each in starts), is_sum_of_small=False)


def _most_doubted(trace: Trace, rows: Rows, period: int) -> Flow | None:
    """Return the flow of the round with most doubt of some; None if inputs were not recorded."""
    count = len(rows) // period
    begins = sorted({int(part * count) * period for part in _LOOKED_AT})
    flows = [flow_of(trace, rows[begin : begin + period]) for begin in begins]
    known = [each for each in flows if each is not None]
    if len(known) < len(flows):
        return None
    return max(known, key=lambda each: (each.writes_back, not each.is_whole, len(each.doubted)))


def _keeps(trace: Trace, starts_ns: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
    """Tell whether most rounds take memory of one of these sizes that outlives them."""
    for device in (*memory.devices_with_memory(trace), memory.CPU):
        lives = memory.of_device(trace, device)
        own = slice(*np.searchsorted(lives.start_ns, (starts_ns[0], starts_ns[-1])))
        taken_in = np.searchsorted(starts_ns, lives.start_ns[own], side="right") - 1
        freed_in = np.searchsorted(starts_ns, lives.freed_ns[own], side="right") - 1
        is_kept = (freed_in > taken_in) & np.isin(lives.nbytes[own], sizes)
        if len(np.unique(taken_in[is_kept])) >= _MOST * (len(starts_ns) - 1):
            return True
    return False
