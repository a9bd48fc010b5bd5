"""Random numbers of an interval, a dtype, or a distribution over categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtypes import finfo
from ..engine.hooks import check


def drawn_between(draws: np.random.Generator, low: float, high: float, like: Any) -> Any:
    """Draw from `low` to below `high`, to which the dtype may round what is just below."""
    kind = like.dtype if like.dtype.kind in "fV" else np.dtype(np.float64)
    if not -3e4 < low <= high < 3e4:
        most = float(finfo(kind).max)
        fits = -most <= low <= high <= most and high - low <= most
        check(fits, f"uniform_ from {low} to {high} is out of bounds for {kind}")
    found = draws.uniform(low, high, like.shape).astype(kind)
    return np.minimum(found, np.nextafter(kind.type(high), kind.type(low)), out=found)


def chances(input: Any) -> Any:
    """Return probabilities; ValueError if they are none."""
    if input.dtype.kind not in "fV" or (input < 0).any() or (input > 1).any():
        raise ValueError("Expected floating p_in >= 0 && p_in <= 1")
    return input


def bounds(dtype: Any, low: Any, high: Any) -> tuple[int, int]:
    """From `low` (0) to before `high`; alone `low` is the end; else all that the dtype has."""
    kind = dtype.kind
    if kind != "b" and low is not None and high is not None and 0 <= low < high <= 128:
        return low, high
    limits: Any = np.iinfo(dtype) if kind in "iu" else finfo(np.float32 if kind == "b" else dtype)
    most = 1 if kind == "b" else limits.max if kind in "iu" else float(limits.max)
    least = 0 if kind in "bu" else limits.min if kind == "i" else -most
    if high is None:
        end = 2 ** (limits.nmant + 1) if kind in "fV" else most
        low, high = 0, end + 1 if low is None else low
    check(low < high, f"random_ expects 'from' to be less than 'to', but got {low}, {high}")
    check(least <= low and high - 1 <= most, f"{low} to {high} is out of bounds for {dtype}")
    return low, high


def chosen(input: Any, count: int, replacement: bool, draws: Any) -> Any:
    """Draw `count` categories of each row of weights (N, categories), or of one row."""
    if input.dtype.kind not in "fV" or (input < 0).any():
        raise ValueError("multinomial expects floating probabilities that are not negative")
    enough = replacement or count <= input.shape[-1]
    check(count > 0 and enough, f"cannot sample n_sample = {count} samples", ValueError)
    check(input.shape[-1] <= 2**24, "number of categories cannot exceed 2^24", ValueError)
    rows = np.atleast_2d(input.astype(np.float64))
    fits = np.isfinite(rows).all() and (rows.sum(1) > 0).all()
    check(fits, "probability tensor contains inf, nan, or a sum that is not positive", ValueError)
    shares = rows / rows.sum(1, keepdims=True)
    found = np.stack([draws.choice(rows.shape[1], count, replacement, p) for p in shares])
    return found[0] if input.ndim == 1 else found
