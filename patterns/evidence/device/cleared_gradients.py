"""What calls of `zero_grad` do to gradients: drop them unread, or find none.

backward            takes memory for the gradients
zero_grad           gives all of it back, no other memory of the backward stays, and neither an
                    optimizer, a hook nor the script read it: unread
  a hook              on the gradient of an activation may change it on its way: that reads nothing
zero_grad           gives nothing back, fills nothing, and no backward ran since the last: needless
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Rows, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims
from tidy.trace.kept import kept

from ..python.op_names import aten
from .autograd import calls_of
from .hooks import ops_of_hooks
from .launches import below, has_name, holds, ops_in_no_op, outermost_rows, tree_rows
from .memory import CPU, devices_with_memory, of_device
from .updates import STEP
from .walks import ACCUMULATE, Walk, walks

# A hook of these alone has no effect but the gradient that it returns, unless `out` names a tensor
# for the result. Each with the inputs that may be tensors otherwise.
_CHANGES = {
    **dict.fromkeys(aten("neg nan_to_num sign zeros_like ones_like"), 1),
    **dict.fromkeys(aten("mul div add sub clamp_min clamp_max"), 2),
    **dict.fromkeys(aten("clamp clip where"), 3),
}


class _Memory(NamedTuple):
    """Memory that calls of `zero_grad` give back, by when it was taken.

    Attributes:
        start_ns: when it was taken.
        nbytes: how much it is.
        call: which call gives it back.
    """

    start_ns: NDArray[np.int64]
    nbytes: NDArray[np.int64]
    call: NDArray[np.int64]


def unread(trace: Trace) -> Iterator[Walk]:
    """Yield each backward whose gradients a call of `zero_grad` drops and nothing uses."""
    calls, memory, hooks = _calls(trace), _given_back(trace), ops_of_hooks(trace)
    steps_ns = np.sort(trace.start_ns[tree_rows(trace, STEP)])
    hooks = hooks[np.argsort(trace.start_ns[hooks], kind="stable")]
    for walk in walks(trace):
        begun_ns, ended_ns = int(trace.start_ns[walk.nodes[0]]), int(trace.end_ns[walk.nodes[-1]])
        own = slice(*np.searchsorted(memory.start_ns, (begun_ns, ended_ns)))
        nbytes = _nbytes(trace, walk)
        if own.start == own.stop or not nbytes:
            continue
        of_calls = np.bincount(memory.call[own], memory.nbytes[own])
        call = int(calls[of_calls.argmax()])
        cleared_ns = int(trace.start_ns[call])
        if of_calls.max() < nbytes or cleared_ns < ended_ns:
            continue
        (stepped,) = np.diff(np.searchsorted(steps_ns, (begun_ns, cleared_ns)))
        own_hooks = hooks[slice(*np.searchsorted(trace.start_ns[hooks], (begun_ns, cleared_ns)))]
        if stepped or _is_used_by(trace, walk, own_hooks) or _outlives(trace, walk, call):
            continue
        if not _is_read(trace, walk, call, begun_ns):
            yield walk


def needless(trace: Trace) -> Rows:
    """Return the calls that have nothing to clear, where others have."""
    calls, memory = _calls(trace), _given_back(trace)
    fills = holds(trace, calls, tree_rows(trace, "aten::zero_", "aten::_foreach_zero_"))
    gives_back = np.isin(np.arange(len(calls)), memory.call)
    accumulated = np.sort(trace.start_ns[tree_rows(trace, ACCUMULATE)])
    count = np.searchsorted(accumulated, trace.start_ns[calls])
    is_again = np.diff(count, prepend=-1) == 0
    empty: Rows = calls[is_again & ~fills & ~gives_back]
    return empty if gives_back.any() else empty[:0]


@kept
def _calls(trace: Trace) -> Rows:
    """Calls of `zero_grad` that no step of an optimizer makes, by start."""
    rows = outermost_rows(trace, np.sort(tree_rows(trace, "*: zero_grad", "Optimizer.zero_grad#*")))
    in_steps = trace.time_of(tree_rows(trace, STEP))
    rows = rows[~in_steps.contains(trace.start_ns[rows])]
    by_start: Rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    return by_start


@kept
def _given_back(trace: Trace) -> _Memory:
    calls = _calls(trace)
    starts, sizes, numbers = list[NDArray[np.int64]](), list[NDArray[np.int64]](), list[Rows]()
    for device in (CPU, *devices_with_memory(trace)) if len(calls) else ():
        lives = of_device(trace, device)
        call = np.searchsorted(trace.start_ns[calls], lives.freed_ns, side="right") - 1
        within = (call >= 0) & (lives.freed_ns <= trace.end_ns[calls][call])
        for into, column in zip(
            (starts, sizes, numbers), (lives.start_ns, lives.nbytes, call), strict=True
        ):
            into.append(column[within])
    none = np.empty(0, np.int64)
    start_ns, nbytes, call = (np.concatenate([none, *each]) for each in (starts, sizes, numbers))
    order = np.argsort(start_ns, kind="stable")
    return _Memory(start_ns[order], nbytes[order], call[order])


def _nbytes(trace: Trace, walk: Walk) -> int:
    """Bytes of the gradients that a backward accumulates; 0 if some are not known."""
    rows, known = tree_rows(trace, ACCUMULATE), _gradient_nbytes(trace)
    last = int(trace.subtree_end[walk.nodes[-1]])
    rows = rows[slice(*np.searchsorted(rows, (walk.nodes[0], last)))]
    sizes = [known[each] for each in trace.inputs_id[rows].tolist()]
    return 0 if None in sizes else sum(filter(None, sizes))


@kept
def _gradient_nbytes(trace: Trace) -> dict[int, int | None]:
    """Bytes of a gradient by the inputs of the node that accumulates it, None if not known."""
    found = dict[int, int | None]()
    for number in np.unique(trace.inputs_id[tree_rows(trace, ACCUMULATE)]).tolist():
        shapes, types = trace.inputs.shapes(number), trace.inputs.dtypes(number)
        size = ITEM_NBYTES.get(types[0], 0) if types else 0
        is_known = size and shapes and is_dims(shapes[0])
        found[number] = size * prod(shapes[0]) if is_known else None
    return found


def _outlives(trace: Trace, walk: Walk, call: int) -> bool:
    """Tell whether memory that a backward took stays after it, but for what a call gives back.

    That is a gradient of an input or of an activation, or what a hook keeps.
    """
    first, last = (int(each) for each in walk.nodes[[0, -1]])
    backwards = calls_of(trace)
    at = int(np.searchsorted(trace.start_ns[backwards], trace.start_ns[first], side="right")) - 1
    ended_ns = int(trace.end_ns[last])
    if at >= 0:  # the engine gives back the last of its own memory as it ends
        ended_ns = max(ended_ns, int(trace.end_ns[backwards[at]]))
    for device in (CPU, *devices_with_memory(trace)):
        lives = of_device(trace, device)
        own = slice(*np.searchsorted(lives.start_ns, (trace.start_ns[first], trace.end_ns[last])))
        freed_ns = lives.freed_ns[own]
        by_call = (freed_ns >= trace.start_ns[call]) & (freed_ns <= trace.end_ns[call])
        on_track = trace.track_id[lives.row[own]] == trace.track_id[first]
        if (on_track & (freed_ns > ended_ns) & ~by_call).any():
            return True
    return False


def _is_read(trace: Trace, walk: Walk, call: int, begun_ns: int) -> bool:
    """Tell whether an operator from a backward on to a call may take one of its gradients.

    Two backwards in a row may be one walk, with a look at gradients between them.
    """
    ops = ops_in_no_op(trace, int(trace.track_id[call]))
    starts = trace.start_ns[ops]
    between = ops[slice(*np.searchsorted(starts, (begun_ns, trace.start_ns[call])))]
    # The engine's own thread is the script's on a CPU.
    between = between[~below(trace, walk.nodes).contains(between)]
    return _takes_one(trace, walk, between)


def _is_used_by(trace: Trace, walk: Walk, hooks: Rows) -> bool:
    """Tell whether operators of hooks take one of the gradients, or do more than change others."""
    does_more = ~has_name(trace, *_CHANGES)[trace.name_id[hooks]]
    return bool(does_more.any()) or _writes_one(trace, hooks) or _takes_one(trace, walk, hooks)


def _writes_one(trace: Trace, hooks: Rows) -> bool:
    """Tell whether one of these operators, all of `_CHANGES`, is given a tensor to write into."""
    pairs = np.unique(np.stack([trace.name_id[hooks], trace.inputs_id[hooks]], 1), axis=0)
    for name, number in pairs.tolist():
        beyond = (trace.inputs.dtypes(number) or ())[_CHANGES[trace.names[name]] :]
        if any(each in ITEM_NBYTES for each in beyond):
            return True
    return False


def _takes_one(trace: Trace, walk: Walk, ops: Rows) -> bool:
    """Tell whether one of these operators takes a tensor with the dims of a gradient, or a list."""
    gradients = {dims for _, dims in walk.gradients if dims}
    for number in np.unique(trace.inputs_id[ops]).tolist():
        shapes, types = trace.inputs.shapes(number), trace.inputs.dtypes(number)
        if any("TensorList" in str(each) for each in types or ()):
            return True
        if any(tuple(each) in gradients for each in shapes or () if is_dims(each)):
            return True
    return False
