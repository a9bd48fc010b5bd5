"""What one round of a loop does, by the names of its operators."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Trace

from ..device.launches import has_name
from ..python.op_names import PRODUCTS, VIEWS, aten

_CONDITION, _READS = aten("is_nonzero"), aten("is_nonzero item _local_scalar_dense")
_FILLS = aten("fill_")
# What follows a read and computes nothing that a branch may skip: `t[i] = number` writes the number
# itself, and lists are made and read for all elements alike.
_NO_BRANCH = VIEWS | _READS | aten("fill_ to cpu empty lift_fresh detach_ resolve_conj resolve_neg")


class Body(Enum):
    """What one round does, which decides what can be said of the loop."""

    ELEMENTS = "ops on elements"
    VIEWS = "views alone"
    PRODUCTS = "a matrix product or a convolution"
    DECIDES = "a value of a tensor goes to Python, which may decide by it what follows"


def body_of_rounds(trace: Trace) -> Callable[[NDArray[np.int64]], Body]:
    """Return what tells of the ids of one round's names, from the first select on, what it does.

    A value may decide a branch, or when the loop ends, if operators that compute follow it, or if
    it ends the round: no recorded round took the branch then. A round may be cut anywhere: where it
    writes into a tensor a condition may decide that too, and a number is what is written.
    """
    is_product, is_view, asks, reads, no_branch, writes, fills = (
        has_name(trace, *names)
        for names in (PRODUCTS, VIEWS, _CONDITION, _READS, _NO_BRANCH, ("aten::*_",), _FILLS)
    )
    writes &= ~has_name(trace, "aten::detach_")

    def body_of(names: NDArray[np.int64]) -> Body:
        if is_product[names].any():
            return Body.PRODUCTS
        if is_view[names].all():
            return Body.VIEWS
        after_a_read = np.cumsum(reads[names]) > 0
        is_deciding = (after_a_read & ~no_branch[names]).any()
        is_deciding |= reads[names[-1]] and not fills[names].any()
        is_deciding |= asks[names[-1]] or (asks[names].any() and writes[names].any())
        return Body.DECIDES if is_deciding else Body.ELEMENTS

    return body_of
