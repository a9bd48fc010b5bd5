"""Columns in stretches, such as the members of each collective: numbers and medians."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .table import Floats, Ints


def medians(values: Ints | Floats, first: Ints) -> Floats:
    """Return the median of each stretch of values; `first` has where each begins; shape (c,)."""
    count = np.diff(first)
    if not len(count):
        return np.zeros(0)
    order = np.lexsort((values, np.repeat(np.arange(len(count)), count)))
    ordered = values[order]
    low, high = ordered[first[:-1] + (count - 1) // 2], ordered[first[:-1] + count // 2]
    middle: Floats = low + (high - low) / 2
    return middle


def above_others(values: Ints | Floats, first: Ints) -> Floats:
    """Return each value less the median of the others of its stretch; shape (m,).

    Args:
        values: shape (m,).
        first: where each stretch begins, and where all end; shape (c + 1,).
    """
    count = np.diff(first)
    order = np.lexsort((values, np.repeat(np.arange(len(count)), count)))
    begins, members = np.repeat(first[:-1], count), np.repeat(count, count)
    ordered, at = values[order], np.arange(len(values)) - begins
    others = members - 1
    low, high = np.maximum(others - 1, 0) // 2, others // 2
    # Among the others those from the member's own number on move up by one.
    low, high = (np.minimum(each + (each >= at), members - 1) for each in (low, high))
    result = np.empty(len(values))
    result[order] = ordered - (ordered[begins + low] + ordered[begins + high]) / 2
    return result


def dense(columns: Sequence[Ints]) -> Ints:
    """Number the distinct tuples of the columns, the last of which counts most; shape (n,)."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    order = np.lexsort(tuple(columns))
    fresh = np.zeros(len(order), bool)
    for column in columns:
        fresh[1:] |= column[order][1:] != column[order][:-1]
    result = np.empty(len(order), np.int64)
    result[order] = np.cumsum(fresh)
    return result


def number_within(family: Ints, order: Ints) -> Ints:
    """Number each row among those of its family, in an order; shape (n,)."""
    by_family = np.lexsort((order, family))
    key = family[by_family]
    fresh = np.append(True, np.diff(key) != 0)[: len(key)]
    at = np.arange(len(key))
    result = np.empty(len(key), np.int64)
    result[by_family] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return result
