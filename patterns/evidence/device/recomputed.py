"""Forwards that a backward runs again, since a checkpoint has dropped what they made.

evaluate_function: CheckpointFunctionBackward
  CheckpointFunctionBackward            use_reentrant=True
    aten::linear                        again, up to the first node of its own backward
    evaluate_function: AddmmBackward0
evaluate_function: AddmmBackward0
  AddmmBackward0                        use_reentrant=False: a node of C++ runs Python for nothing
    nn.Module: Block_0                  but to get back what it saved
      aten::linear                      again
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tidy.trace import EventKind, Rows, Trace
from tidy.trace.kept import kept

from ..python.loops import step_of
from .autograd import NODE
from .launches import below, outermost_rows, tree_rows
from .memory import of_device

_REENTRANT = "CheckpointFunctionBackward"
_OF_CPP = re.compile(r"\w+Backward\d+")


class Recomputed(NamedTuple):
    """One forward that is run again.

    Attributes:
        ops: its operators that are in no other, by start.
        start_ns, end_ns: when it runs.
    """

    ops: Rows
    start_ns: int
    end_ns: int


@kept
def recomputed(trace: Trace) -> list[Recomputed]:
    """Return all forwards that run again in a backward, by start."""
    nodes = np.sort(tree_rows(trace, f"{NODE}*"))
    ranges = [(row, int(trace.subtree_end[row])) for row in _modules(trace, nodes).tolist()]
    for row in tree_rows(trace, _REENTRANT).tolist():
        inner = nodes[np.searchsorted(nodes, row) : np.searchsorted(nodes, trace.subtree_end[row])]
        if len(inner):
            ranges.append((row + 1, int(inner[0])))
    if not ranges:
        return []
    ops = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
    found = list[Recomputed]()
    for first, end in ranges:
        inside = ops[slice(*np.searchsorted(ops, (first, end)))]
        # What holds the first node as well is no forward.
        own = outermost_rows(trace, inside[trace.subtree_end[inside] <= end])
        if len(own):
            start_ns, end_ns = int(trace.start_ns[own[0]]), int(trace.end_ns[own[-1]])
            found.append(Recomputed(own, start_ns, end_ns))
    return sorted(found, key=lambda each: each.start_ns)


def kept_nbytes(trace: Trace, device: int, found: list[Recomputed]) -> int:
    """Return by how much more memory a step has in use that keeps what these make, in bytes."""
    lives = of_device(trace, device)
    of_step = dict[int, int]()
    steps = step_of(trace, [each.start_ns for each in found]).tolist()
    for each, step in zip(found, steps, strict=True):
        if step < 0:
            continue
        own = slice(*np.searchsorted(lives.start_ns, (each.start_ns, each.end_ns)))
        stays = lives.freed_ns[own] > each.end_ns
        of_step[step] = of_step.get(step, 0) + int(lives.nbytes[own][stays].sum())
    return max(of_step.values(), default=0)


def _modules(trace: Trace, nodes: Rows) -> Rows:
    """Return outermost calls of modules right in an operator of a node that C++ implements."""
    modules = np.sort(tree_rows(trace, "nn.Module: *"))
    modules = outermost_rows(trace, modules[below(trace, nodes).contains(modules)])
    if not len(modules):
        return modules
    is_op = trace.kind[: trace.tree_count] == EventKind.TorchOp
    is_op[nodes] = True
    around = trace.parent[modules].astype(np.int64)
    rising = np.flatnonzero(~is_op[around])
    while len(rising):
        around[rising] = trace.parent[around[rising]]
        rising = rising[~is_op[around[rising]]]
    of_cpp = np.array([_OF_CPP.fullmatch(name) is not None for name in trace.names], bool)
    in_cpp: Rows = modules[of_cpp[trace.name_id[around]]]
    return in_cpp
