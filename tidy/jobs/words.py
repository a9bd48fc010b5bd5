"""Ranks in words, and findings of many ranks in one line each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

_MOST_PIECES = 8  # of a list of ranks; the rest is counted

_Key = TypeVar("_Key", bound=Hashable)


def ranks_text(ranks: Iterable[int], of_all: Iterable[int]) -> str:
    """Name ranks: `rank 5`, `ranks 0-3, 5`, `all ranks`, `all but 7`.

    Args:
        ranks: those to name.
        of_all: all that were given, these included.
    """
    some, all_ranks = sorted(set(ranks)), sorted(set(of_all))
    others = sorted(set(all_ranks) - set(some))
    if len(some) > 1 and not others:
        return "all ranks"
    if others and len(others) <= len(some) // 3 and len(_stretches(others)) < len(_stretches(some)):
        return f"all but {_listed(others)}"
    return f"{'rank' if len(some) == 1 else 'ranks'} {_listed(some)}"


def _listed(ranks: Sequence[int]) -> str:
    stretches = _stretches(ranks)
    said = [
        str(first) if first == last else f"{first}-{last}"
        for first, last in stretches[: _MOST_PIECES if len(stretches) > _MOST_PIECES + 1 else None]
    ]
    left = sum(last - first + 1 for first, last in stretches[len(said) :])
    return ", ".join(said) + (f" and {left} more" if left else "")


def _stretches(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last of all ranks that follow one another; two are named alone."""
    result: list[tuple[int, int]] = []
    for rank in ranks:
        if result and rank == result[-1][1] + 1:
            result[-1] = result[-1][0], rank
        else:
            result.append((rank, rank))
    return [
        each
        for first, last in result
        for each in ([(first, first), (last, last)] if last == first + 1 else [(first, last)])
    ]


@dataclass(frozen=True, slots=True)
class OnRanks(Generic[_Key]):
    """One finding of several ranks, with what it costs on each.

    Attributes:
        key: what they have in common, such as rule and location.
        ranks: those that have it, ascending.
        low_ns, median_ns, high_ns: its cost over these ranks.
        dearest: the rank on which it costs most.
    """

    key: _Key
    ranks: tuple[int, ...]
    low_ns: float
    median_ns: float
    high_ns: float
    dearest: int


def merged(costs: Iterable[tuple[_Key, int, float]]) -> list[OnRanks[_Key]]:
    """Merge findings of ranks by their key, the dearest in the median of its ranks first.

    Args:
        costs: key, rank and cost of each finding in ns; of one rank and key they are added up.
    """
    by_key: dict[_Key, dict[int, float]] = {}
    for key, rank, cost_ns in costs:
        of_ranks = by_key.setdefault(key, {})
        of_ranks[rank] = of_ranks.get(rank, 0.0) + cost_ns
    result = [
        OnRanks(
            key,
            tuple(sorted(of_ranks)),
            min(of_ranks.values()),
            float(np.median(list(of_ranks.values()))),
            max(of_ranks.values()),
            max(sorted(of_ranks), key=lambda rank: of_ranks[rank]),
        )
        for key, of_ranks in by_key.items()
    ]
    return sorted(result, key=lambda each: -each.median_ns)
