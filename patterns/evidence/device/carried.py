"""Whether each round of a loop needs what the round before made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Capability, Rows, Trace

from ..python.op_names import VIEWS, aten
from . import memory
from .round_flow import Flow, flow_of
from .round_gradients import keeps_gradients
from .round_ops import SELECT, RoundOp, is_in_place

_MOST = 0.8  # of the rounds; the first and the last have no neighbour
_LOOKED_AT = (0.2, 0.4, 0.6, 0.8)  # rounds of a loop, as parts of it
# Without shapes it is not known whether an operator takes a number or a tensor. These take one
# tensor, or compare; of two of them one may change what the round before has left.
_COMPUTES = aten(
    "abs ceil cos eq erf exp floor ge gt le log log_softmax lt mean ne neg norm relu round rsqrt "
    "sigmoid sign sin softmax sqrt square sum tan tanh"
)
_COPIES = VIEWS | aten("is_nonzero item lift_fresh _local_scalar_dense to")
_FILLS = aten("fill_ zero_ detach_")


def may_be_carried(trace: Trace, rows: Rows, period: int) -> bool:
    """Tell whether a round may need what the round before made, beside the sum that it adds to.

    Dims of inputs tell what a round may read of the one before, and lifetimes of memory what it
    keeps for the next. A variable that each round assigns keeps its tensor until then, too, whether
    that needs it or not. A gradient tells: what a round adds to a sum hands none to the round
    before. Without dims only rounds that cannot are told from others.

    Args:
        rows: operators of the loop by start; `period` make a round.
    """
    flows = _flows(trace, rows, period)
    if not flows:
        return not _is_of_elements_alone(trace, rows[:period])
    if any(each.writes_back or each.has_state for each in flows):
        return True
    # If each needs the one before all may. Other dims may be like those before by chance.
    flow = min(flows, key=lambda each: len(each.doubted))
    is_recorded = Capability.MEMORY in trace.capabilities
    if not flow.doubted:
        return is_recorded and _keeps_a_state(trace, rows, period, flow)
    # No one size of memory tells what rounds of several dims keep.
    varies = len({each.doubted_dims for each in flows}) > 1
    if varies or not is_recorded or _writes_elsewhere(trace, rows, period, flow):
        return True
    is_sum_alone = keeps_gradients(trace, rows, period, flow)
    return not is_sum_alone and _all_keep(trace, rows, period, flow.sizes())


def _is_of_elements_alone(trace: Trace, a_round: Rows) -> bool:
    """Tell by names alone whether a round reads, tests or fills what it selects before.

    A value that it reads and then fills in may be that of an element that another round filled.
    """
    names = [trace.names[each] for each in trace.name_id[a_round].tolist()]
    computes = sum(each in _COMPUTES for each in names)
    if not all(each in _COMPUTES | _COPIES | _FILLS for each in names):
        return False
    if any(each in _FILLS for each in names):
        return all(each in VIEWS | _FILLS for each in names)
    return not computes or (computes == 1 and names[0] == SELECT)


def _all_keep(trace: Trace, rows: Rows, period: int, sizes: NDArray[np.int64]) -> bool:
    """Tell whether memory is kept for the next round, wherever a round is taken to begin.

    What is needed by the next round lives at any moment; what one statement makes, and the next one
    takes, lives between these two alone.
    """
    starts = (trace.start_ns[rows[begin::period]] for begin in range(period))
    return all(_keeps(trace, each, sizes) for each in starts)


def _flows(trace: Trace, rows: Rows, period: int) -> list[Flow]:
    """Return the flows of some rounds; none where inputs of one were not recorded."""
    if Capability.SHAPES not in trace.capabilities:
        return []
    count = len(rows) // period
    begins = {int(part * count) * period for part in _LOOKED_AT}
    begins = begins - {0} or begins  # before the first is none; it is compared with the next
    flows = [
        flow_of(trace, rows[begin : begin + period], rows[abs(begin - period) :][:period])
        for begin in sorted(begins)
    ]
    known = [each for each in flows if each is not None]
    return known if len(known) == len(flows) else []


def _keeps(trace: Trace, starts_ns: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
    """Tell whether most rounds take memory of one of these sizes that outlives them."""
    for lives in _all_memory(trace):
        own = slice(*np.searchsorted(lives.start_ns, (starts_ns[0], starts_ns[-1])))
        taken_in = np.searchsorted(starts_ns, lives.start_ns[own], side="right") - 1
        freed_in = np.searchsorted(starts_ns, lives.freed_ns[own], side="right") - 1
        is_kept = (freed_in > taken_in) & np.isin(lives.nbytes[own], sizes)
        if len(np.unique(taken_in[is_kept])) >= _MOST * (len(starts_ns) - 1):
            return True
    return False


def _all_memory(trace: Trace) -> Iterator[memory.Lifetimes]:
    for device in (*memory.devices_with_memory(trace), memory.CPU):
        yield memory.of_device(trace, device)


def _writes_elsewhere(trace: Trace, rows: Rows, period: int, flow: Flow) -> bool:
    """Tell whether an operator that may read the round before leaves no memory for its result.

    It has written into an `out=` that it was given. A copy into that may take memory of its own,
    which goes before anything reads it.
    """
    ops = {op.at: op for op, _ in flow.doubted if op.changes is None and op.name not in VIEWS}
    return any(
        (_rounds_until_freed(trace, rows, period, at) < (op in flow.unread)).all()
        for at, op in ops.items()
    )


def _keeps_a_state(trace: Trace, rows: Rows, period: int, flow: Flow) -> bool:
    """Tell whether rounds keep a result until the next one has made its own, beside what stays.

    No later operator of its round may have read it, and what rounds are for is elsewhere: it stays
    longer, or is written into elements. So the result is there for the next round.
    """
    ends = {op.at: _rounds_until_freed(trace, rows, period, op.at) for op in _makers(flow)}
    most = _MOST * (len(rows) // period - 1)
    stays = {at for at, rounds in ends.items() if (rounds > 1).sum() >= most}
    return any(
        (ends[op.at] == 1).sum() >= most and (flow.writes or stays - {op.at})
        for op in flow.unread
        if op.at in ends and op not in flow.sums
    )


def _makers(flow: Flow) -> Sequence[RoundOp]:
    return [
        op
        for op in flow.ops
        if op.name not in VIEWS and not is_in_place(op.name) and not op.is_made_of_nothing
    ]


def _rounds_until_freed(trace: Trace, rows: Rows, period: int, at: int) -> NDArray[np.int64]:
    """Return by round how many later ones have called this operator when its memory is freed.

    -1 for those that leave no memory, and as many as there are for memory that is never freed.
    """
    ops = rows[: len(rows) // period * period].reshape(-1, period)[:, at]
    starts, ends = trace.start_ns[ops], trace.end_ns[ops]
    found = np.full(len(ops), -1, np.int64)
    for lives in _all_memory(trace):
        own = slice(*np.searchsorted(lives.start_ns, (starts[0], ends[-1])))
        taken, freed = lives.start_ns[own], lives.freed_ns[own]
        of_round = np.searchsorted(starts, taken, side="right") - 1
        is_left = (taken < ends[of_round]) & (freed > ends[of_round])
        called = np.searchsorted(starts, freed[is_left]) - 1 - of_round[is_left]
        np.maximum.at(found, of_round[is_left], called)
    return found
