"""Forwards that a backward runs again, since a checkpoint has dropped what they made.

evaluate_function: CheckpointFunctionBackward
  CheckpointFunctionBackward            use_reentrant=True
    aten::linear                        again, up to the first node of its own backward
    evaluate_function: AddmmBackward0
evaluate_function: AddmmBackward0
  AddmmBackward0                        use_reentrant=False: a node of C++ calls the function that
    nn.Module: Block_0                  the forward has called, to get back what it saved
      aten::linear                      again
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import EventKind, Intervals, Rows, Trace
from tidy.trace.kept import kept

from ..python.loops import step_of
from ..python.op_names import VIEWS, aten
from .autograd import NODE
from .launches import below, has_name, outermost_rows, tree_rows
from .memory import of_device

_REENTRANT = "CheckpointFunctionBackward"
_OF_CPP = re.compile(r"\w+Backward\d+")
_OF_CHECKPOINTS = "*torch/utils/checkpoint.py(*"
# Other hooks of saved tensors do no more than that.
_MOVES = VIEWS | aten("to _to_copy copy_ clone contiguous type_as empty empty_like empty_strided")
# No backward of C++ calls these by themselves.
_LAYERS = aten("linear conv1d conv2d conv3d embedding layer_norm batch_norm")


class Recomputed(NamedTuple):
    """One forward that is run again.

    Attributes:
        ops: its operators that are in no other, by start.
        start_ns, end_ns: when it runs.
        forward_ns: when it ran first; -1 if not known.
    """

    ops: Rows
    start_ns: int
    end_ns: int
    forward_ns: int


@kept
def recomputed(trace: Trace) -> list[Recomputed]:
    """Return all forwards that run again in a backward, by start."""
    nodes = np.sort(tree_rows(trace, f"{NODE}*"))
    frames = _frames(trace, nodes)
    ranges = [(row, int(trace.subtree_end[row]), int(trace.parent[row])) for row in frames.tolist()]
    for row in tree_rows(trace, _REENTRANT).tolist():
        inner = nodes[np.searchsorted(nodes, row) : np.searchsorted(nodes, trace.subtree_end[row])]
        if len(inner):
            ranges.append((row + 1, int(inner[0]), row))
    if not ranges:
        return []
    in_nodes = below(trace, nodes)
    ops = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
    moves = has_name(trace, *_MOVES)
    found = list[Recomputed]()
    for first, end, node in ranges:
        inside = ops[slice(*np.searchsorted(ops, (first, end)))]
        # What holds the first node as well is no forward.
        own = outermost_rows(trace, inside[trace.subtree_end[inside] <= end])
        # A checkpoint records its own graph, hooks of saved tensors compute without one.
        has_graph = (trace.sequence_nr[own] >= 0).any()
        if has_graph and not moves[trace.name_id[own]].all():
            edges_ns = int(trace.start_ns[own[0]]), int(trace.end_ns[own[-1]])
            found.append(Recomputed(own, *edges_ns, _forward_ns(trace, in_nodes, node)))
    return sorted(found, key=lambda each: each.start_ns)


def has_hidden(trace: Trace) -> bool:
    """Tell whether nodes run layers again of which no function is known."""
    layers = tree_rows(trace, *_LAYERS)
    return bool(_is_in_cpp(trace, layers).any())


def are_all_known(trace: Trace) -> bool:
    """Tell whether nodes run nothing again but in functions that are known."""
    ops = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
    # A backward computes without a graph, unless one is asked for.
    ops = ops[trace.sequence_nr[ops] >= 0]
    return not _is_in_cpp(trace, ops).any()


def kept_nbytes(trace: Trace, device: int, found: list[Recomputed]) -> int:
    """Return by how much more memory is in use at once if what these make is kept, in bytes.

    It is kept from the first forward on; from the start of the step if that is not known.
    """
    lives = of_device(trace, device)
    changes = list[tuple[int, int]]()
    steps = step_of(trace, [each.start_ns for each in found]).tolist()
    for each, step in zip(found, steps, strict=True):
        if step < 0:
            continue
        own = slice(*np.searchsorted(lives.start_ns, (each.start_ns, each.end_ns)))
        stays = lives.freed_ns[own] > each.end_ns
        nbytes = int(lives.nbytes[own][stays].sum())
        from_ns = each.forward_ns if each.forward_ns >= 0 else trace.steps[step].start_ns
        changes += [(from_ns, nbytes), (each.end_ns, -nbytes)]
    in_use = np.cumsum([nbytes for _, nbytes in sorted(changes)], dtype=np.int64)
    return int(in_use.max(initial=0))


def _forward_ns(trace: Trace, in_nodes: Intervals, node: int) -> int:
    """Return when the forward of a node ran, if it is no forward that runs again itself."""
    forward = trace.forward.get(node, -1)
    if forward < 0 or in_nodes.contains(np.array([forward])).any():
        return -1
    return int(trace.start_ns[forward])


def _frames(trace: Trace, nodes: Rows) -> Rows:
    """Return calls right in nodes that C++ implements, of functions that the forward calls, too.

    Hooks of saved tensors that are no checkpoint's have functions of their own there.
    """
    calls = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.PyCall)
    inner = calls[_is_in_cpp(trace, calls)]
    if not len(inner):
        return inner
    in_nodes = below(trace, nodes)
    ops = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
    outside = ops[~in_nodes.contains(ops)]
    names = trace.name_id[: trace.tree_count].astype(np.int64)
    above = np.where(trace.parent[: trace.tree_count] >= 0, trace.parent[: trace.tree_count], 0)
    keys = names * len(trace.names) + names[above]
    forward_names = np.unique(names[calls[~in_nodes.contains(calls)]])
    forward_keys = np.unique(keys[outside])
    of_checkpoints = has_name(trace, _OF_CHECKPOINTS)
    is_again = np.isin(names[inner], forward_names)
    for at in np.flatnonzero(is_again).tolist():
        end = int(trace.subtree_end[inner[at]])
        own = outermost_rows(trace, ops[slice(*np.searchsorted(ops, (inner[at], end)))])
        is_again[at] = np.isin(keys[own], forward_keys).all()
    found: Rows = inner[is_again | of_checkpoints[names[inner]]]
    return found


def _is_in_cpp(trace: Trace, rows: Rows) -> NDArray[np.bool_]:
    """Tell of each tree row whether it is right in the operator of a node that C++ implements."""
    around = trace.parent[rows].astype(np.int64)
    engine = trace.parent[np.maximum(around, 0)].astype(np.int64)
    of_cpp = np.zeros(len(trace.names), bool)
    names = trace.names_fitting("*Backward*")
    of_cpp[[each for each in names if _OF_CPP.fullmatch(trace.names[each])]] = True
    is_engine = has_name(trace, f"{NODE}*")
    found = (around >= 0) & (engine >= 0)
    found &= of_cpp[trace.name_id[around]] & is_engine[trace.name_id[engine]]
    return np.asarray(found, np.bool_)
