"""What a device with work does: each nanosecond belongs to one kernel, copy or fill.

Where several streams have work at once, computing comes before communication, and that before
copies: what computing hides is not exposed. Among the same kind the first to start has the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Intervals, Rows, Trace
from ..trace.intervals import repeated
from ..trace.kept import kept
from . import work_kinds
from .closures import closures
from .pieces import NO_STRETCHES, Stretches, joined
from .work_kinds import convolve, kernel_kinds, op_kind

COPIES, FILLS = "copies", "fills"
CONVOLUTIONS_ON_TENSOR_CORES = "convolutions on Tensor Cores"
CONVOLUTIONS_ON_ORDINARY = "convolutions on ordinary cores"
# What communication is where several ranks' traces tell it; see ranks.py.
WAITING_FOR_RANKS, TRANSFER = "waiting for other ranks", "transfer"
# With one rank's trace: what a collective takes beyond the shortest of its like in other steps.
ABOVE_SHORTEST = "above the shortest of each collective"
KINDS = (
    work_kinds.TENSOR_CORES,
    work_kinds.ORDINARY,
    CONVOLUTIONS_ON_TENSOR_CORES,
    CONVOLUTIONS_ON_ORDINARY,
    work_kinds.PRODUCTS,
    work_kinds.CONVOLUTIONS,
    work_kinds.ATTENTION,
    work_kinds.REDUCTION,
    work_kinds.ELEMENTWISE,
    work_kinds.OPTIMIZER,
    work_kinds.OTHER,
    work_kinds.COMMUNICATION,
    COPIES,
    FILLS,
    WAITING_FOR_RANKS,
    TRANSFER,
    ABOVE_SHORTEST,
)
CODE_OF = {kind: code for code, kind in enumerate(KINDS)}
_CONVOLUTION_OF = {
    CODE_OF[work_kinds.TENSOR_CORES]: CODE_OF[CONVOLUTIONS_ON_TENSOR_CORES],
    CODE_OF[work_kinds.ORDINARY]: CODE_OF[CONVOLUTIONS_ON_ORDINARY],
    CODE_OF[work_kinds.PRODUCTS]: CODE_OF[work_kinds.CONVOLUTIONS],
}
# What a kernel whose name does not tell does is what the operator that launched it computes.
_OF_UNNAMED = {
    kind: CODE_OF[kind]
    for kind in (work_kinds.PRODUCTS, work_kinds.CONVOLUTIONS, work_kinds.ATTENTION)
}
_IN_OPTIMIZER = "Optimizer.step#*"


def kinds_by_name(trace: Trace, rows: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return for each device row what its name alone says, as an index into `KINDS`."""
    result: NDArray[np.int8] = _kinds_of_names(trace)[trace.name_id[rows]]
    return result


@kept
def _kinds_of_names(trace: Trace) -> NDArray[np.int8]:
    """For each name that work of devices has what it says; shape (names,)."""
    by_name = np.zeros(len(trace.names), np.int8)
    used = np.flatnonzero(np.bincount(trace.name_id[trace.device_rows]))
    texts = [trace.names[name] for name in used.tolist()]
    kinds = [
        COPIES if text.startswith(("MEMORY_COPY_", "__amd_rocclr_copy")) else kind
        for text, kind in zip(texts, kernel_kinds(texts), strict=True)
    ]
    by_name[used] = [CODE_OF[kind] for kind in kinds]
    return by_name


def kernels_of_collectives(trace: Trace) -> Rows:
    """Find what collectives run on devices, by whatever library."""
    rows = trace.device_rows[trace.kind[trace.device_rows] == EventKind.Kernel]
    found: Rows = rows[kinds_by_name(trace, rows) == CODE_OF[work_kinds.COMMUNICATION]]
    return found


def kinds_of(trace: Trace, rows: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return for each device row the index of its kind in `KINDS`."""
    result = kinds_by_name(trace, rows)
    ops = trace.launching_ops(rows)
    unnamed = np.flatnonzero((result == CODE_OF[work_kinds.OTHER]) & (ops >= 0))
    result[unnamed] = trace.by_call(
        ops[unnamed], lambda name, _: _OF_UNNAMED.get(op_kind(name), CODE_OF[work_kinds.OTHER])
    )
    products = np.flatnonzero(np.isin(result, list(_CONVOLUTION_OF)))
    products = products[_convolves(trace, rows[products], ops[products])]
    for product, convolution in _CONVOLUTION_OF.items():
        result[products[result[products] == product]] = convolution
    kind = trace.kind[rows]
    result = np.where(kind == EventKind.Memcpy, CODE_OF[COPIES], result)
    result = np.where(kind == EventKind.Memset, CODE_OF[FILLS], result)
    steps = trace.rows_named(_IN_OPTIMIZER)
    steps = steps[steps < trace.tree_count]
    if len(steps):
        call = trace.caller[rows].astype(np.int64)
        launched = np.where(call >= 0, trace.start_ns[np.maximum(call, 0)], -1)
        inside = (trace.time_of(steps) - closures(trace)).contains(launched)
        computes = result < CODE_OF[work_kinds.COMMUNICATION]
        result = np.where(inside & computes, CODE_OF[work_kinds.OPTIMIZER], result)
    return result


def _convolves(trace: Trace, rows: NDArray[np.int64], op: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each device row whether its name, or that of the operator that launched it, is one's.

    A convolution may be computed by a kernel that has the name of a plain product.
    """
    by_name = np.zeros(len(trace.names) + 1, bool)  # the last is where no operator is known
    op_name = np.where(op >= 0, trace.name_id[op], -1)
    used = np.flatnonzero(np.bincount(np.append(trace.name_id[rows], op_name[op_name >= 0])))
    by_name[used] = convolve(trace.names[name] for name in used.tolist())
    either: NDArray[np.bool_] = by_name[trace.name_id[rows]] | by_name[op_name]
    return either


def busy_pieces(trace: Trace, device: int, window: Intervals) -> Stretches:
    """Return the time with work inside the window: `kind` is an index into `KINDS`, `row` the
    work's.
    """
    rows = trace.rows_of_device(device)
    rows = rows[trace.duration_ns[rows] > 0]
    kind = kinds_of(trace, rows)
    communicates = CODE_OF[work_kinds.COMMUNICATION]
    left, parts = window, []
    for chosen in (kind < communicates, kind == communicates, kind > communicates):
        mine = rows[chosen]
        if not len(mine):
            continue
        starts, ends = trace.start_ns[mine], trace.end_ns[mine]
        # By start: each has the time from where all before it have ended.
        free_from = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, ends))[:-1]
        cut = Stretches(np.maximum(starts, free_from), ends, kind[chosen], mine.astype(np.int32))
        parts.append(_inside(left, cut.at(cut.end_ns > cut.start_ns)))
        if len(mine) < len(rows):
            left = left - Intervals(starts, ends)
    return joined(parts) if parts else NO_STRETCHES


def _inside(time: Intervals, pieces: Stretches) -> Stretches:
    """The parts of the pieces that lie in `time`; one may come out as several."""
    first = np.searchsorted(time.ends_ns, pieces.start_ns, side="right")
    last = np.searchsorted(time.starts_ns, pieces.end_ns, side="left")
    which, at = repeated(np.maximum(last - first, 0), first)
    return Stretches(
        np.maximum(time.starts_ns[at], pieces.start_ns[which]),
        np.minimum(time.ends_ns[at], pieces.end_ns[which]),
        pieces.kind[which],
        pieces.row[which],
    )
