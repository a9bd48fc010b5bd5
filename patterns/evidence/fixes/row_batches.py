"""Rows of a tensor that are batches themselves: `for batch in batches` over (N, B, ...).

training      aten::linear | float[32, 16], float[8, 16]      and its backward
rows          aten::linear | float[64, 16], float[8, 16]      the same but for the batch size
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidy.trace import Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from ..device.autograd import forward_links
from ..device.launches import has_name, ops_around_all
from ..python.op_names import PRODUCTS

# Name, dims of the first input without the first of them, and shapes of the other inputs.
_Product = tuple[int, tuple[int, ...], tuple[object, ...]]
_DIMS_OF_BATCHES = {"aten::conv1d": 3, "aten::conv2d": 4, "aten::conv3d": 5}


def are_trained_batches(trace: Trace, ops: Rows) -> bool:
    """Tell whether rounds without gradients take what training takes at once, but for its size."""
    links = forward_links(trace)[:, 1]
    trained_inside = ops_around_all(trace)[links[links < trace.tree_count]]
    found = [product for _, product in _products(trace, ops)]
    if not found or None in found or np.isin(trained_inside, ops).any():
        return False
    return _trained_products(trace).issuperset(found)


def takes_batches(trace: Trace, ops: Rows) -> bool:
    """Tell whether a convolution takes several samples at once."""
    for name, product in _products(trace, ops):
        if product is not None and len(product[1]) + 1 == _DIMS_OF_BATCHES.get(name):
            return True
    return False


@kept
def _trained_products(trace: Trace) -> frozenset[_Product]:
    rows = forward_links(trace)[:, 1]
    ops = np.unique(ops_around_all(trace)[rows[rows < trace.tree_count]]).astype(np.int64)
    found = (product for _, product in _products(trace, ops[ops >= 0]))
    return frozenset(each for each in found if each is not None)


def _products(trace: Trace, ops: Rows) -> Iterator[tuple[str, _Product | None]]:
    """Yield each kind of product, a None for one of a single sample, by its operator's name."""
    rows = ops[has_name(trace, *PRODUCTS)[trace.name_id[ops]]]
    kinds = np.unique(np.stack([trace.name_id[rows], trace.inputs_id[rows]], 1), axis=0)
    for name, inputs in kinds.tolist():
        shapes = [
            tuple(each) if is_dims(each) else None for each in trace.inputs.shapes(inputs) or ()
        ]
        first = shapes[0] if shapes else None
        is_batch = first is not None and len(first) > 1 and first[0] > 1
        product = (name, first[1:], tuple(shapes[1:])) if first is not None and is_batch else None
        yield trace.names[name], product
