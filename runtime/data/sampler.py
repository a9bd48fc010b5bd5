"""In which order samples are drawn: iterables of keys. Source: torch/utils/data/sampler.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic

import numpy as np

from ..ops.creation import Generator, default_generator, randint
from ..ops.table import aten
from .dataset import T_co


def _check(kind: Any, error: type[Exception] = ValueError, **options: Any) -> None:
    what = "boolean" if kind is bool else "positive integer"
    for name, value in options.items():
        if type(value) is not kind or (kind is int and value <= 0):
            raise error(f"{name} should be a {what} value, but got {name}={value}")


class Sampler(Generic[T_co]):
    """Keys in some order: subclasses define `__iter__`, and `__len__` if it is known."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2 and so on."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Shuffles, one after the other, until there are `num_samples`; or draws with replacement."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        _check(bool, TypeError, replacement=replacement)
        _check(int, num_samples=self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many keys one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, left = len(self.data_source), self.num_samples
        while left > 0:
            if self.replacement:
                drawn = randint(size, (min(left, 32),), generator=self.generator)
            else:
                drawn = aten.randperm(size, generator=self.generator)
            yield from drawn.tolist()[:left]
            left -= 32 if self.replacement else size

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[Any]):
    """`indices`, shuffled."""

    def __init__(self, indices: Sequence[Any], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        order = aten.randperm(len(self.indices), generator=self.generator).tolist()
        return (self.indices[n] for n in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Draws key `i` with a probability in proportion to `weights[i]`."""

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check(int, num_samples=num_samples)
        _check(bool, replacement=replacement)
        self.weights = np.array(weights, np.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence, but have {self.weights.shape}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        stream, chance = (self.generator or default_generator).stream, self.weights
        short = not self.replacement and self.num_samples > len(chance)
        if short or not (chance >= 0).all() or not 0 < chance.sum() < np.inf:
            raise RuntimeError(f"cannot draw {self.num_samples} by weights {chance}")
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
