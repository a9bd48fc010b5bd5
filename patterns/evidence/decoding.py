"""Whether a model decodes one token after the other, by the shapes of its attention."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidy.trace import EventKind, Trace
from tidy.trace.inputs import is_dims

_ATTENTION = ("aten::scaled_dot_product_attention", "aten::_softmax")
# So much of the attention looks at what came before from one token alone. A few such layers are
# those that gather a picture or a sentence into one vector.
_MOST = 0.9
_FEWEST_TOKENS = 3


def is_eager(trace: Trace) -> bool:
    """Whether operators decode one token after the other, each from a longer past than before."""
    rows = trace.rows_named(*_ATTENTION)
    rows = rows[trace.kind[rows] == EventKind.TorchOp]
    rows = rows[trace.in_window(rows)]
    inputs, counts = np.unique(trace.inputs_id[rows], return_counts=True)
    lengths, from_one, in_all = set[int](), 0, 0
    for number, count in zip(inputs.tolist(), counts.tolist(), strict=True):
        for queries, keys in _lengths(trace, number):
            in_all += count
            if queries == 1 < keys:
                from_one += count
                lengths.add(keys)
    grown = np.diff(sorted(lengths))
    grows = len(lengths) >= _FEWEST_TOKENS and bool((grown == 1).all())
    return grows and from_one >= _MOST * in_all


def _lengths(trace: Trace, inputs: int) -> Iterator[tuple[int, int]]:
    """How many tokens ask and how many are asked, of one call."""
    shapes = trace.inputs.shapes(inputs)
    query, key = [*shapes, (), ()][:2]
    if is_dims(query) and len(query) == 4:
        asked = key[2] if is_dims(key) and len(key) == 4 else query[3]
        yield query[2], asked
