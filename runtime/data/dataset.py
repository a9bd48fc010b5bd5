"""Datasets, samplers (in which order samples are drawn), and samples made into batches.

Source: torch/utils/data/dataset.py, sampler.py, _utils/collate.py, _utils/pin_memory.py.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import accumulate, islice
from typing import Any, Generic, TypeVar

import numpy as np

from ..core.aten import aten
from ..core.faces import WHY, refusing
from ..core.storage import pin
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from ..ops.creation import default_generator, randint, tensor

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
        sizes = {len(x.array) for x in tensors}
        check(len(sizes) <= 1, "Size mismatch between tensors", AssertionError)
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0].array)


class Subset(Dataset[Any]):
    """The samples of `dataset` whose keys are in `indices`."""

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Any:
        return look_up(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def look_up(dataset: Any, keys: list[Any]) -> Any:
    """Return the samples for `keys`, in one call if the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    return many(keys) if many else [dataset[key] for key in keys]


class ConcatDataset(Dataset[Any]):
    """One dataset after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        fits = self.datasets and not any(isinstance(d, IterableDataset) for d in self.datasets)
        check(bool(fits), "datasets should be map-style, and at least one", AssertionError)
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        check(index >= -len(self), "absolute value should not exceed the length", ValueError)
        index += len(self) if index < 0 else 0
        which = bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Disjoint random subsets of these lengths, or of fractions that sum to 1."""
    size, sizes = len(dataset), [int(length) for length in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        fits = all(0 <= fraction <= 1 for fraction in lengths)
        check(fits, f"Fraction is not between 0 and 1: {lengths}", ValueError)
        sizes = [math.floor(size * fraction) for fraction in lengths]
        for n in range(size - sum(sizes)):
            sizes[n % len(sizes)] += 1
        if 0 in sizes:
            warnings.warn(f"Length of split at index {sizes.index(0)} is 0.", stacklevel=2)
    check(sum(sizes) == size, "Sum of input lengths is not the dataset's length", ValueError)
    keys = iter(aten.randperm(size, generator=generator).tolist())
    return [Subset(dataset, list(islice(keys, length))) for length in sizes]


def _check(kind: Any, error: type[Exception] = ValueError, **options: Any) -> None:
    for name, value in options.items():
        fits = type(value) is kind and (kind is bool or value > 0)
        what = "boolean" if kind is bool else "positive integer"
        check(fits, f"{name} should be a {what} value, but got {name}={value}", error)


class Sampler(Generic[T_co]):
    """Keys in some order: subclasses define `__iter__`, and `__len__` if it is known."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[Any]):
    """0, 1, 2 and so on."""

    def __init__(self, data_source: Any, generator: Any = None) -> None:
        self.data_source, self.generator = data_source, generator

    def __iter__(self) -> Iterator[Any]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return len(self.data_source)


class SubsetRandomSampler(SequentialSampler):
    """Keys, shuffled."""

    def __iter__(self) -> Iterator[Any]:
        order = aten.randperm(len(self), generator=self.generator).tolist()
        return (self.data_source[n] for n in order)


class RandomSampler(SequentialSampler):
    """Shuffles, one after the other, until there are `num_samples`; or draws with replacement."""

    def __init__(
        self, data_source: Any, replacement: Any = False, num_samples: Any = None, **how: Any
    ) -> None:
        super().__init__(data_source, **how)
        self.replacement, self._num_samples = replacement, num_samples
        _check(bool, TypeError, replacement=replacement)
        _check(int, num_samples=len(self))

    def __iter__(self) -> Iterator[int]:
        size, left = len(self.data_source), len(self)
        while left > 0:
            if self.replacement:
                drawn = randint(size, (min(left, 32),), generator=self.generator)
            else:
                drawn = aten.randperm(size, generator=self.generator)
            yield from drawn.tolist()[:left]
            left -= 32 if self.replacement else size

    def __len__(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples


class WeightedRandomSampler(Sampler[int]):
    """Draws key `i` with a probability in proportion to `weights[i]`."""

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        _check(int, num_samples=num_samples)
        _check(bool, replacement=replacement)
        self.weights = np.array(weights, np.float64)
        check(self.weights.ndim == 1, "weights should be a 1d sequence", ValueError)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        stream, chance = (self.generator or default_generator).stream, self.weights
        enough = self.replacement or self.num_samples <= len(chance)
        fits = enough and (chance >= 0).all() and 0 < chance.sum() < np.inf
        check(bool(fits), f"cannot draw {self.num_samples} by weights {chance}")
        chance = np.maximum(chance / chance.sum(), 1e-300)  # weight 0 comes last, not never
        drawn = stream.choice(len(chance), self.num_samples, self.replacement, chance)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[Any]]):
    """Lists of `batch_size` keys from `sampler`, the last one shorter or dropped."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        _check(int, batch_size=batch_size)
        _check(bool, drop_last=drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        keys, least = iter(self.sampler), self.batch_size if self.drop_last else 1
        while len(batch := list(islice(keys, self.batch_size))) >= least:
            yield batch

    def __len__(self) -> int:
        short = 0 if self.drop_last else self.batch_size - 1
        return (len(self.sampler) + short) // self.batch_size


class DistributedSampler(Sampler[Any]):
    """Can be imported and asked for; to make one needs processes that are joined."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("torch.utils.data.DistributedSampler", WHY["distributed"])()


def _like(old: Any, found: Any) -> Any:
    """The dict or list `found` as the class of container that `old` is, where it can be."""
    if hasattr(old, "_fields"):  # a namedtuple
        return type(old)(*found)
    try:
        if not isinstance(old, (abc.MutableMapping, abc.MutableSequence)):
            return type(old)(found)
        new: Any = copy(old)
        for key, value in found.items() if isinstance(found, dict) else enumerate(found):
            new[key] = value
    except TypeError:
        return found
    return new


def default_collate(batch: Any) -> Any:  # noqa: PLR0911
    """N samples as one batch: what is `(...)` in a sample becomes a tensor `(N, ...)`."""
    first = batch[0]
    if isinstance(first, Tensor):
        return aten.stack(batch, 0)
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return aten.stack([wrap(array) for array in batch], 0)
    if isinstance(first, (np.bool_, np.number)):
        return wrap(np.array(batch))
    if isinstance(first, (float, int)):
        return tensor(batch, dtype=np.float64 if isinstance(first, float) else None)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like(first, {key: default_collate([x[key] for x in batch]) for key in first})
    check(isinstance(first, Sequence), f"default_collate: cannot batch {type(first)}", TypeError)
    check(len(set(map(len, batch))) == 1, "the samples of a batch should be of equal size")
    found = [default_collate(column) for column in zip(*batch, strict=True)]
    return found if type(first) is tuple else _like(first, found)


def _apply(change: Callable[[Any], Any], data: Any, tuples: type) -> Any:
    """`data` with `change` done to whatever is no container; its plain tuples as `tuples`."""
    if isinstance(data, Mapping):
        return _like(data, {key: _apply(change, data[key], tuples) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        found = [_apply(change, value, tuples) for value in data]
        return tuples(found) if type(data) is tuple else _like(data, found)
    return change(data)


def _convert(value: Any) -> Any:
    numeric = isinstance(value, (np.ndarray, np.bool_, np.number)) and value.dtype.kind not in "SUO"
    return wrap(value) if numeric else value


def default_convert(data: Any) -> Any:
    """Return one sample, its arrays and numpy numbers as tensors, its tuples as lists."""
    return _apply(_convert, data, list)


def _pin(value: Any) -> Any:
    if isinstance(value, Tensor):
        pin(value)
        return value
    return value.pin_memory() if hasattr(value, "pin_memory") else value


def pin_memory(data: Any) -> Any:
    """Mark each tensor as pinned. Nothing is copied: a batch is in memory of its own."""
    return _apply(_pin, data, tuple)
