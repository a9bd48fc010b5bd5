"""Sequences of different lengths in one tensor, step by step. Source: torch/nn/utils/rnn.py."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap

_Base = namedtuple("_Base", "data batch_sizes sorted_indices unsorted_indices")


class PackedSequence(_Base):
    """The steps of all sequences, longest first: `batch_sizes` says how many have each step."""

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> PackedSequence:  # fmt: skip
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self._replace(data=self.data.to(*args, **kwargs))


def invert_permutation(permutation: Any) -> Any:
    return None if permutation is None else wrap(np.argsort(permutation.array))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Return the steps that count of a padded batch, (T, B, *)."""
    sizes = np.asarray(getattr(lengths, "array", lengths)).astype(np.int64)
    data = input.transpose(0, 1) if batch_first else input
    check(sizes.shape == (data.array.shape[1],), "Expected `len(lengths)` to be the batch size")
    order = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes, data = sizes[order], data.index_select(1, wrap(order))
    check(bool((np.diff(sizes) <= 0).all()), "`lengths` must be sorted when enforce_sorted=True")
    fits = sizes.size and sizes[-1] > 0 and sizes[0] <= data.array.shape[0]
    check(bool(fits), "Length of all samples has to be greater than 0, and at most the input's")
    batch = (sizes > np.arange(sizes[0])[:, None]).sum(1)
    rows = aten.cat([data[t, :n] for t, n in enumerate(batch.tolist())])
    return PackedSequence(rows, wrap(batch), None if order is None else wrap(order))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return a padded batch, and the lengths: the reverse of packing."""
    batch = sequence.batch_sizes.array
    long = len(batch) if total_length is None else total_length
    told = "Expected total_length to be at least the length of the longest sequence"
    check(long >= len(batch), told, ValueError)
    shape = sequence.data.array.shape[1:]
    place = np.nonzero(np.arange(batch[0]) < batch[:, None])
    lengths = (batch[:, None] > np.arange(batch[0])).sum(0)
    data = sequence.data
    padded = aten.full((long, int(batch[0]), *shape), padding_value, dtype=data.array.dtype)
    padded = padded.index_put(tuple(wrap(i) for i in place), data)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.array]
    return padded.transpose(0, 1) if batch_first else padded, wrap(lengths)


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:  # fmt: skip
    """Tensors (L, *) of several lengths as one, (T, B, *)."""
    check(padding_side in {"left", "right"}, "padding_side should be either left or right")
    long = max(x.array.shape[0] for x in sequences)
    made = []
    for x in sequences:
        more = long - x.array.shape[0]
        sides = (more, 0) if padding_side == "left" else (0, more)
        pad = [0] * (2 * (x.array.ndim - 1)) + list(sides)
        made.append(aten.constant_pad_nd(x, pad, padding_value))
    return aten.stack(made, 0 if batch_first else 1)


def unpad_sequence(padded: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    rows = padded if batch_first else padded.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    lengths = [x.array.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpack_sequence(packed: PackedSequence) -> list[Tensor]:
    return unpad_sequence(*pad_packed_sequence(packed))
