"""Sums into the elements of an array that indices name, some of them several times."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_at(target: Any, place: tuple[Any, ...], values: Any) -> None:
    """np.add.at; rows of a matrix go by sorting, which is faster."""
    if len(place) != 1 or target.ndim != 2 or place[0].dtype.kind == "b" or place[0].size < 64:
        np.add.at(target, place, values)
        return
    flat, width = place[0].reshape(-1), target.shape[1]
    rows = np.broadcast_to(values, (*place[0].shape, width)).reshape(-1, width)
    order = np.argsort(flat, kind="stable")
    keys = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    target[keys[starts]] += np.add.reduceat(rows[order], starts, 0)
