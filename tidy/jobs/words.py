"""Ranks in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_PIECES = 8  # of a list of ranks; the rest is counted


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
