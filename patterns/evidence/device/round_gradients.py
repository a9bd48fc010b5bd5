"""Whether the backward of a loop tells that no round needs the one before, but for a sum."""

from __future__ import annotations

import numpy as np

from tidy.trace import Rows, Trace
from tidy.trace.intervals import repeated
from tidy.trace.kept import kept

from ..python.op_names import VIEWS
from . import memory
from .autograd import NODE, forward_links
from .launches import by_start, has_name, tree_rows
from .round_flow import Flow
from .round_ops import SELECT, Kind

_DETACHES = "aten::detach"


def keeps_gradients(trace: Trace, rows: Rows, period: int, flow: Flow) -> bool:
    """Tell whether no round hands a gradient to the round before, other than that of a sum.

    The gradients that nodes make for what may be of the round before have to be used up by other
    nodes of their own round: a gradient that is handed on lives longer, and one that is added to
    another goes within its node. What made no gradient may hand on a value without one.

    Args:
        rows: operators of the loop by start; `period` make a round.
        flow: of a round, with some doubt.
    """
    rows = rows[: len(rows) // period * period]
    doubted = {tensor for _, tensor in flow.doubted}
    reading = [op for op in flow.ops if not doubted.isdisjoint(op.reads) and op not in flow.sums]
    readers, named = [op.at for op in reading], {op.name for op in reading}
    is_detached = has_name(trace, _DETACHES)[trace.name_id[rows[:period]]].any()
    if is_detached or SELECT in named or any(each.kind is not Kind.FLOAT for each in doubted):
        return False
    makers = [op.at for op in reading if op.name not in VIEWS]
    nodes = _nodes(trace)
    links = forward_links(trace)
    if not makers or not len(nodes) or not len(links):
        return False
    node_of, op_of = _nodes_of(trace, rows, links, nodes)
    has_node = np.zeros(len(rows), bool)
    has_node[op_of] = True
    if not has_node.reshape(-1, period)[:, readers].all():
        return False
    first = np.full(len(rows) // period, len(nodes))
    np.minimum.at(first, op_of // period, node_of)
    first, looked_at = first[::-1], node_of[np.isin(op_of % period, makers)]
    low, high = int(first[0]), int(first[-1])
    if (np.diff(first) <= 0).any():
        return False
    looked_at = looked_at[looked_at < high]
    if not len(looked_at):
        return False
    return _are_used_up(trace, nodes[low : high + 1], first - low, looked_at - low, flow)


@kept
def _nodes(trace: Trace) -> Rows:
    """Return the engine's calls of nodes, by start."""
    return by_start(trace, tree_rows(trace, f"{NODE}*"))


def _nodes_of(trace: Trace, rows: Rows, links: Rows, nodes: Rows) -> tuple[Rows, Rows]:
    """Return which of the engine's nodes these operators made, and which operator made each."""
    backward, forward = links.T
    low = np.searchsorted(forward, rows)
    op_of, at = repeated(np.searchsorted(forward, trace.subtree_end[rows]) - low, low)
    starts = trace.start_ns[nodes]
    node_of = np.searchsorted(starts, trace.start_ns[backward[at]], side="right") - 1
    is_in = (node_of >= 0) & (trace.end_ns[nodes[node_of]] > trace.start_ns[backward[at]])
    return node_of[is_in], op_of[is_in].astype(np.int64)


def _are_used_up(trace: Trace, nodes: Rows, first: Rows, node_of: Rows, flow: Flow) -> bool:
    """Tell whether nodes make gradients, and later nodes of the same round use all of these up.

    Args:
        nodes: of the engine from the first of the loop on, up to the first of its last round; where
            that ends is not known.
        first: the first node of each round, ascending, and `node_of` those that are looked at.
    """
    starts, sizes = trace.start_ns[nodes], flow.sizes()
    for device in (*memory.devices_with_memory(trace), memory.CPU):
        lives = memory.of_device(trace, device)
        own = slice(*np.searchsorted(lives.start_ns, (starts[0], starts[-1])))
        is_gradient = np.isin(lives.nbytes[own], sizes)
        made = np.searchsorted(starts, lives.start_ns[own][is_gradient], side="right") - 1
        gone = np.searchsorted(starts, lives.freed_ns[own][is_gradient], side="right") - 1
        is_theirs = np.isin(made, node_of)
        made, gone = made[is_theirs], gone[is_theirs]
        if np.isin(node_of, made).all():
            within = np.bincount(made[gone <= made], minlength=len(nodes))
            rounds = (np.searchsorted(first, each, side="right") for each in (made, gone))
            return bool((within <= _sums_in(trace, nodes, flow)).all() and np.equal(*rounds).all())
    return False


def _sums_in(trace: Trace, nodes: Rows, flow: Flow) -> Rows:
    """Count the sums in each node over tensors with dims of what may be of the round before.

    The gradient of what was broadcast is made as large as the result, and then summed.
    """
    doubted, sums = {tensor.dims for _, tensor in flow.doubted}, tree_rows(trace, "aten::sum")
    sums = sums[slice(*np.searchsorted(sums, (nodes.min(), nodes.max())))]
    numbers = np.unique(trace.inputs_id[sums]).tolist()
    first_dims = ((each, trace.inputs.shapes(each)[:1]) for each in numbers)
    fitting = [each for each, dims in first_dims if dims and dims[0] in doubted]
    sums = sums[np.isin(trace.inputs_id[sums], fitting)]
    return np.searchsorted(sums, trace.subtree_end[nodes]) - np.searchsorted(sums, nodes)
