"""What hooks on gradients compute: those of tensors, of nodes, and `post_accumulate_grad_hook`.

evaluate_function: TanhBackward0
  h                                 a frame: what is in it is a hook's
  aten::square                      the same without stacks: it comes before the node's operator
  TanhBackward0                     the node's operator
  aten::sum                         the engine adds up what was broadcast
evaluate_function: AccumulateGrad
  AccumulateGrad
    aten::detach                    the engine takes the gradient, or adds it to the last one
    aten::add_                      a hook's
aten::square                        between two nodes: a hook's, as the runtime records them
"""

from __future__ import annotations

import numpy as np

from tidy.trace import EventKind, Intervals, Rows, Trace
from tidy.trace.kept import kept

from .autograd import NODE, forward_links
from .launches import below, has_name, holds, ops_in_no_op, tree_rows
from .walks import ACCUMULATE, walks


@kept
def ops_of_hooks(trace: Trace) -> Rows:
    """Return the operators that hooks on gradients call, ascending."""
    found: Rows = np.union1d(_in_nodes(trace), _between_nodes(trace))
    return found


def _in_nodes(trace: Trace) -> Rows:
    nodes = tree_rows(trace, f"{NODE}*")
    ops = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
    ops = ops[below(trace, nodes).contains(ops) & ~np.isin(ops, nodes)]
    parents = trace.parent[ops].astype(np.int64)
    around = parents.copy()
    is_op = trace.kind[: trace.tree_count] == EventKind.TorchOp
    is_op[nodes] = True
    rising = np.flatnonzero(~is_op[around])
    while len(rising):
        around[rising] = trace.parent[around[rising]]
        rising = rising[~is_op[around[rising]]]
    own_name = _names_of_own_ops(trace)
    is_own = own_name[trace.name_id[around]] == trace.name_id[ops]
    own_op = np.full(trace.tree_count, -1, np.int64)
    own_op[around[is_own]] = ops[is_own]
    is_node = has_name(trace, f"{NODE}*")[trace.name_id[around]] & ~is_own
    of_hooks = is_node & ((around != parents) | (ops < own_op[around]))
    accumulates = has_name(trace, ACCUMULATE)[trace.name_id[around]]
    of_hooks |= accumulates & ~np.isin(ops, _accumulating(trace, ops, parents))
    found: Rows = ops[of_hooks]
    return found


def _names_of_own_ops(trace: Trace) -> Rows:
    """For the name id of each node that of its own operator; -1 for other names."""
    ids = {name: number for number, name in enumerate(trace.names)}
    own = np.full(len(trace.names), -1, np.int64)
    for number in trace.names_fitting(f"{NODE}*"):
        own[number] = ids.get(trace.names[number].removeprefix(NODE), -1)
    return own


def _accumulating(trace: Trace, ops: Rows, parents: Rows) -> Rows:
    """Of the operators with these parents those with which the engine accumulates gradients.

    It takes or adds in one operator, or copies a gradient of another layout in two.
    """
    direct = has_name(trace, ACCUMULATE)[trace.name_id[parents]]
    ops, parents = ops[direct], parents[direct]
    first = np.flatnonzero(np.diff(parents, prepend=-1))
    copies = has_name(trace, "aten::new_empty_strided", "aten::empty_strided")
    second = first[copies[trace.name_id[ops[first]]]] + 1
    own: Rows = ops[np.append(first, second[second < len(ops)])]
    return own


def _between_nodes(trace: Trace) -> Rows:
    """Return the operators between two nodes that are called at one place, with no range between.

    A range there is a step of an optimizer, say, and a module's call a forward.
    """
    found = [np.empty(0, np.int64)]
    in_tree = trace.kind[: trace.tree_count]
    is_other = (in_tree != EventKind.TorchOp) & (in_tree != EventKind.PyCall)
    is_other |= has_name(trace, "nn.Module: *")[trace.name_id[: trace.tree_count]]
    others, forward = np.flatnonzero(is_other), forward_links(trace)[:, 1]
    for walk in walks(trace):
        first, last = trace.subtree_end[walk.nodes[:-1]], walk.nodes[1:]
        above = trace.parent[walk.nodes]
        one_call = (above[:-1] == above[1:]) & (first < last)
        one_call &= np.searchsorted(others, first) == np.searchsorted(others, last)
        gaps = Intervals(first[one_call], last[one_call])
        if len(gaps):
            ops = ops_in_no_op(trace, int(trace.track_id[walk.nodes[0]]))
            ops = ops[gaps.contains(ops)]
            found.append(ops[~holds(trace, ops, forward)])
    return np.concatenate(found)
