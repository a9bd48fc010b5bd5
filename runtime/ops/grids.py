"""Images read at places between their pixels. Source: aten/src/ATen/native/GridSampler.cpp."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import declare

_UNTOLD = "Default {}behavior has changed to align_corners=False since 1.3.0."


def _spaced(length: int, kind: Any, corners: Any) -> Any:
    """From -1 to 1, to the last bit as PyTorch does: where pixels are met exactly it decides."""
    if length < 2:
        return np.zeros(1, kind)
    half = np.arange((length + 1) // 2) * kind(2 / (length - 1))
    found = np.concatenate([half[: length // 2] - 1, (1 - half)[::-1]]).astype(kind)
    return found if corners else found * kind(length - 1) / kind(length)


def _affine(theta: Tensor, size: Any, corners: Any) -> Tensor:
    if corners is None:
        warnings.warn(_UNTOLD.format("grid_sample and affine_grid "), stacklevel=5)
    n = len(size) - 2
    fits = n in (2, 3) and theta.array.shape == (size[0], n, n + 1)
    told = f"Expected a batch of {n}D affine matrices for size {size}, got {theta.shape}"
    check(fits, told, ValueError)
    each = [_spaced(length, theta.array.dtype.type, corners) for length in size[:1:-1]]
    places = np.stack([*np.meshgrid(*each[::-1], indexing="ij")[::-1], np.ones(size[2:])], -1)
    flat = wrap(places.reshape(1, -1, n + 1).astype(theta.array.dtype))
    return (flat @ theta.transpose(1, 2)).reshape((size[0], *size[2:], n))


def _reflected(at: Any, low: float, span: float) -> Any:
    """Thrown back at `low` and at `low + span`."""
    if not span:
        return at * 0
    away = (at - low).abs()
    turns = np.floor(away.array / span)
    away = away - wrap((turns * span).astype(at.array.dtype))
    return aten.where(wrap(turns % 2 == 0), away + low, span + low - away)


def _pixels(at: Any, size: int, border: str, corners: Any) -> Any:
    """From [-1, 1] to numbers of pixels."""
    at = (at + 1) * ((size - 1) / 2) if corners else (at + 1) * (size / 2) - 0.5
    if border == "reflection":
        at = _reflected(at, *((0.0, size - 1.0) if corners else (-0.5, float(size))))
    return at if border == "zeros" else at.clamp(0, size - 1)


def _read(x: Tensor, places: list[Any]) -> Tensor:
    """The pixels (N, C, *grid) at places (N, *grid) for each dimension; zeros outside."""
    have = x.array.shape[2:]
    inside = np.logical_and.reduce([(p >= 0) & (p < s) for p, s in zip(places, have, strict=True)])
    flat = np.ravel_multi_index(
        [np.clip(p, 0, s - 1).astype(np.int64) for p, s in zip(places, have, strict=True)], have
    )
    index = np.broadcast_to(flat.reshape(len(flat), 1, -1), (*x.array.shape[:2], flat[0].size))
    found = (
        x.flatten(2).gather(2, wrap(index.copy())).reshape((*x.array.shape[:2], *flat.shape[1:]))
    )
    return found if inside.all() else found * wrap(inside[:, None].astype(x.array.dtype))


def _sampled(x: Tensor, grid: Tensor, mode: str, border: str, corners: Any) -> Tensor:
    if corners is None:
        warnings.warn(_UNTOLD.format("grid_sample and affine_grid "), stacklevel=5)
    n = x.array.ndim - 2
    check(mode in {"bilinear", "nearest"}, f"grid_sample: mode {mode!r} is not supported here",
          ValueError if mode != "bicubic" else NotImplementedError)  # fmt: skip
    known = border in {"zeros", "border", "reflection"}
    check(known, f"padding_mode {border!r} is not zeros, border or reflection", ValueError)
    fits = grid.array.ndim == n + 2 and grid.array.shape[0] == x.array.shape[0]
    check(fits and grid.array.shape[-1] == n in (2, 3), f"{grid.shape} is no grid for {x.shape}")
    each = [
        _pixels(at, size, border, corners)
        for at, size in zip(grid.unbind(-1)[::-1], x.array.shape[2:], strict=True)
    ]
    if mode == "nearest":
        return _read(x, [np.rint(at.array) for at in each])
    low = [np.floor(at.array) for at in each]
    found: Any = 0
    for corner in itertools.product((0, 1), repeat=n):
        near = (
            at - wrap(below) if up else wrap(below + 1) - at
            for at, below, up in zip(each, low, corner, strict=True)
        )
        pixels = _read(x, [below + up for below, up in zip(low, corner, strict=True)])
        found = pixels * math.prod(near).unsqueeze(1) + found
    return found


_ROWS = r"""
[nn]
affine_grid(theta, size, align_corners = None) := _affine(theta, size, align_corners)
grid_sample(self, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners = None)
    := _sampled(self, grid, mode, padding_mode, align_corners)
"""
declare(globals(), _ROWS)
