"""Host stalls: operators that now and then take far longer than their like.

A thread that has no processor stops wherever it is. It is told by operators whose own time does not
depend on data: views and new tensors, those whose work a device does, and in runs of the CPU those
with the same inputs. In calls of a driver and in Python it may be another's lock or Python's own.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Rows, Trace
from .host_names import names_that
from .work_kinds import ATTENTION, CONVOLUTIONS, MEMORY, PRODUCTS, op_kind

# A time slice, or what is left of a quota's period, takes longer; page faults and locks do not.
_LONG_NS = 2_000_000
# Nine of ten calls take so many times less. Of fewer calls it is not known what they usually take,
# and what happens once or twice has other reasons.
_TIMES, _FEWEST_CALLS, _FEWEST_STALLS = 50, 20, 3
_WORKLESS = re.compile(
    r"aten::_?(t|transpose|permute|(un)?(fold|view|squeeze|flatten)\w*|reshape\w*|expand\w*|slice"
    r"|select|narrow|split\w*|chunk|unbind|as_strided|alias|detach|empty\w*)_?"
)
_PLANNED = re.compile(r"cudnn|miopen|fft|rnn|linalg|sparse")
# None that runs Python (nodes of autograd that do have no number), and none that waits.
_COMPUTES = re.compile(r"aten::(?!wait$)\w+|\w+Backward\d+")


def stalled_ops(trace: Trace, launches: NDArray[np.bool_]) -> Rows:
    """Find the tree rows of operators that stalled; the first of a name on a thread never did.

    Args:
        launches: for each tree row whether it, or an operator in it, launches kernels.
    """
    calls = trace.rows_of_kind(EventKind.Runtime)
    ops = trace.rows_of_kind(EventKind.TorchOp)
    long = ops[trace.duration_ns[ops] >= _LONG_NS]
    # Memory is asked for in calls; operators of tidy.runtime are Python, which collects garbage.
    calls_are_known = trace.is_cpu_run or (len(calls) and not trace.info.is_thinned)
    if not len(long) or not calls_are_known or trace.info.framework.startswith("tidy.runtime"):
        return ops[:0]
    workless = names_that(_WORKLESS.fullmatch, trace, long)
    computes = names_that(_COMPUTES.fullmatch, trace, long)
    planned = names_that(_is_planned, trace, long)
    by_size = names_that(_has_work, trace, long) & trace.is_cpu_run
    name, inputs = trace.name_id[ops].astype(np.int64), trace.inputs_id[ops].astype(np.int64)
    by_name = workless[name] | (computes[name] & ~planned[name] & launches[ops])
    alike = by_name | (computes[name] & (launches[ops] | by_size[name]) & (inputs >= 0))
    like = (name << 32) + np.where(by_name, 0, inputs + 1)
    ops, like = ops[alike], like[alike]
    own_ns = trace.self_ns[ops]
    order = np.lexsort((own_ns, like))
    _, first, which, count = np.unique(
        like[order], return_index=True, return_inverse=True, return_counts=True
    )
    usual_ns = own_ns[order][first + (9 * count - 1) // 10]
    is_long = own_ns[order] >= np.maximum(_LONG_NS, _TIMES * usual_ns)[which]
    some = order[is_long & (count[which] >= _FEWEST_CALLS)]
    found: Rows = ops[some[~_are_first(trace, ops, like)[some]]]
    other = trace.time_of(np.concatenate([calls, trace.rows_of_kind(EventKind.Overhead)]))
    own_ns = trace.self_ns[found] - other.covered_ns(trace.start_ns[found], trace.end_ns[found])
    found = found[own_ns >= _LONG_NS]
    return found if len(found) >= _FEWEST_STALLS else found[:0]


def _are_first(trace: Trace, ops: Rows, like: Rows) -> NDArray[np.bool_]:
    """For each op whether it is the first of its like on its thread."""
    order = np.lexsort((trace.start_ns[ops], trace.track_id[ops], like))
    key = np.stack([like, trace.track_id[ops]])[:, order]
    result = np.ones(len(ops), bool)
    result[order[1:]] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    return result


def _is_planned(name: str) -> bool:
    """Tell whether libraries search how to compute something for each size that is new."""
    return op_kind(name) in (PRODUCTS, CONVOLUTIONS, ATTENTION) or bool(_PLANNED.search(name))


def _has_work(name: str) -> bool:
    return op_kind(name) != MEMORY
