"""What samples are drawn from. Source: torch/utils/data/dataset.py."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice
from typing import Any, Generic, TypeVar

from ..ops.creation import Generator
from ..ops.table import aten
from ..tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by key: `__getitem__`, `__len__`, perhaps `__getitems__` for a list of keys."""

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples as a stream: subclasses define `__iter__`."""


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample `i` is row `i` of each tensor."""

    def __init__(self, *tensors: Tensor) -> None:
        if len({tensor.shape[0] for tensor in tensors}) > 1:
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset[Any]):
    """The samples of `dataset` whose keys are in `indices`."""

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Any:
        return look_up(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def look_up(dataset: Any, keys: list[Any]) -> Any:
    """The samples for `keys`, in one call if the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    return many(keys) if many else [dataset[key] for key in keys]


class ConcatDataset(Dataset[Any]):
    """One dataset after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets or any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("datasets should be map-style, and at least one")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        if index < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        index += len(self) if index < 0 else 0
        which = bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """Disjoint random subsets of these lengths, or of fractions that sum to 1.

    What is left after rounding fractions down goes to the first subsets, one each.
    """
    size, sizes = len(dataset), [int(length) for length in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if not all(0 <= fraction <= 1 for fraction in lengths):
            raise ValueError(f"Fraction is not between 0 and 1: {lengths}")
        sizes = [math.floor(size * fraction) for fraction in lengths]
        for n in range(size - sum(sizes)):
            sizes[n % len(sizes)] += 1
        if 0 in sizes:
            warnings.warn(f"Length of split at index {sizes.index(0)} is 0.", stacklevel=2)
    if sum(sizes) != size:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    keys = iter(aten.randperm(size, generator=generator).tolist())
    return [Subset(dataset, list(islice(keys, length))) for length in sizes]
