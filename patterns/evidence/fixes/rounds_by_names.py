"""What one round of a loop does, by the names of its operators."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Trace

from ..device.launches import has_name
from ..python.op_names import PRODUCTS, VIEWS, aten

_CONDITION, _READS = aten("is_nonzero"), aten("item _local_scalar_dense")
# `t[i] = number` after a read writes the number itself.
_WRITES_NUMBERS = aten("fill_")


class Body(Enum):
    """What one round does, which decides what can be said of the loop."""

    ELEMENTS = "ops on elements"
    VIEWS = "views alone"
    PRODUCTS = "a matrix product or a convolution"
    DECIDES = "a value of a tensor goes to Python, which may decide by it what follows"


def body_of_rounds(trace: Trace) -> Callable[[NDArray[np.int64]], Body]:
    """Return what tells of the ids of one round's names, from the first select on, what it does."""
    is_product, is_view, asks, reads, writes = (
        has_name(trace, *names) for names in (PRODUCTS, VIEWS, _CONDITION, _READS, _WRITES_NUMBERS)
    )
    computes = ~(is_view | reads | writes)

    def body_of(names: NDArray[np.int64]) -> Body:
        if is_product[names].any():
            return Body.PRODUCTS
        if is_view[names].all():
            return Body.VIEWS
        after_a_read = np.cumsum(reads[names]) > 0
        is_deciding = asks[names].any() or (after_a_read & computes[names]).any()
        return Body.DECIDES if is_deciding else Body.ELEMENTS

    return body_of
