"""Attention that is computed step by step: two batched products with a softmax between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from tidy.account.op_nbytes import is_elementwise
from tidy.trace import Event, EventKind, Rows, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims

from .autograd import forward_links

SOFTMAX, _PRODUCTS = "aten::_softmax", ("aten::bmm", "aten::baddbmm")
# What else may happen to the scores: dropout and masks.
_ALLOWED = frozenset({"aten::bernoulli_", "aten::tril", "aten::triu", SOFTMAX})
# Ops that multiply other things, though they ran between the two products.
_OTHERS = frozenset({"aten::mm", "aten::addmm", "aten::convolution", "aten::convolution_backward"})


@dataclass(frozen=True, slots=True)
class Attention:
    """One attention of a forward.

    Attributes:
        softmax: the op.
        rows: [first, last) in the tree, from the first product to the end of the second.
        flops: operations of both products.
        nbytes: of queries, keys, values and the result.
        dtype: of the products' inputs, as the profiler writes it.
    """

    softmax: Event
    rows: tuple[int, int]
    flops: int
    nbytes: int
    dtype: str


def attentions(trace: Trace, fewest_queries: int, fewest_keys: int) -> Iterator[Attention]:
    """All attentions of so many queries and keys that are computed step by step, by row."""
    products = trace.rows_named(*_PRODUCTS)
    launching = np.sort(trace.launching_ops(trace.rows_of_kind(EventKind.Kernel)), kind="stable")
    for row in trace.rows_named(SOFTMAX).tolist():
        track = trace.track_id[row]
        after = int(np.searchsorted(products, row))
        if not 0 < after < len(products):
            continue
        first, last = trace.event(int(products[after - 1])), trace.event(int(products[after]))
        if trace.track_id[first.row] == track == trace.track_id[last.row]:
            found = _attention(trace.event(row), first, last, launching)
            if found is None:
                continue
            queries, keys = found.softmax.input_shapes[0][-2:]
            if queries >= fewest_queries and keys >= fewest_keys:
                yield found


def _attention(softmax: Event, first: Event, last: Event, launching: Rows) -> Attention | None:
    dims: tuple[int, ...] = softmax.input_shapes[0] if softmax.input_shapes else ()
    scores, mixed = _sizes(first), _sizes(last)
    if not is_dims(dims) or not 3 <= len(dims) <= 4 or not scores or not mixed:
        return None
    keys = dims[-1]
    made_of_it = scores[0] * scores[1] * scores[3] == prod(dims) == prod(mixed[:3])
    if not made_of_it or scores[3] != keys or mixed[2] != keys:
        return None
    if not _only_scores(first, last, launching):
        return None
    batch, count, size, _ = scores
    out = mixed[3]
    elements = batch * (count * (size + out) + keys * (size + out))
    dtypes = (*last.input_dtypes, "", "", "")
    dtype = str(dtypes[1 if last.name == "aten::bmm" else 2])
    trace = softmax.trace
    return Attention(
        softmax,
        (first.row, int(trace.subtree_end[last.row])),
        2 * prod(dims) * (size + out),
        elements * ITEM_NBYTES.get(dtype, 4),
        dtype,
    )


def _sizes(product: Event) -> tuple[int, int, int, int] | tuple[()]:
    """Batch, rows, inner size and columns of a batched product."""
    at = 0 if product.name == "aten::bmm" else 1
    shapes = product.input_shapes[at : at + 2]
    if len(shapes) < 2 or not all(is_dims(each) and len(each) == 3 for each in shapes):
        return ()
    (batch, rows, inner), (_, _, columns) = shapes
    return batch, rows, inner, columns


def _only_scores(first: Event, last: Event, launching: Rows) -> bool:
    """Whether all that runs on the device between the products is scaling, masking and dropout."""
    trace = first.trace
    ends = int(trace.subtree_end[first.row]), last.row
    between = launching[slice(*np.searchsorted(launching, ends))]
    names = {trace.names[each] for each in np.unique(trace.name_id[between]).tolist()}
    return all(is_elementwise(name) or name in _ALLOWED | _OTHERS for name in names)


class WorkOfAttention:
    """The device work of attentions, of the forward and of the backward."""

    def __init__(self, trace: Trace, found: list[Attention]) -> None:
        firsts = np.array([each.rows[0] for each in found], np.int64)
        lasts = np.array([each.rows[1] for each in found], np.int64)
        links = forward_links(trace)
        links = links[np.argsort(links[:, 0])]
        at = np.searchsorted(firsts, links[:, 1], side="right") - 1
        inside = (at >= 0) & (links[:, 1] < lasts[np.maximum(at, 0)])
        starts = np.concatenate([firsts, links[inside, 0]])
        ends = np.concatenate([lasts, trace.subtree_end[links[inside, 0]]])
        which = np.concatenate([np.arange(len(found)), at[inside]])
        order = np.argsort(starts, kind="stable")
        starts, ends, which = starts[order], ends[order], which[order]
        outer = ends > np.append(-1, np.maximum.accumulate(ends)[:-1])
        starts, ends, which = starts[outer], ends[outer], which[outer]
        rows = trace.device_rows
        ops = trace.launching_ops(rows)
        at = np.searchsorted(starts, ops, side="right") - 1
        mine = (ops >= 0) & (at >= 0) & (ops < ends[np.maximum(at, 0)])
        mine &= ~np.isin(ops, trace.rows_named(*_OTHERS))
        self._rows, self._of = rows[mine], which[at[mine]]
        in_backward = starts[at[mine]] >= lasts[self._of]
        self._has_backward = set(np.unique(self._of[in_backward]).tolist())

    def of(self, number: int) -> list[int]:
        """Rows of the work of one attention."""
        rows: list[int] = self._rows[self._of == number].tolist()
        return rows

    def has_backward(self, number: int) -> bool:
        """Whether the work of its backward was recorded."""
        return number in self._has_backward
