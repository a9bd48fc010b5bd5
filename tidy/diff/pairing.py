"""The rows of two tables of ops, paired: by name, shapes and place, and else by what is left."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from .op_table import OpKey, OpRow, OpTable


@dataclass(frozen=True)
class Pair:
    """What is the same of both runs; a side is None where it has nothing of the kind.

    Attributes:
        how: what differs between the two beside their times: "", "place", "shapes" or both.
    """

    key: OpKey
    base: OpRow | None
    new: OpRow | None
    how: str = ""

    @cached_property
    def medians_ns(self) -> tuple[float, float]:
        """Its time in a median step of both; 0 where it is not there."""
        rows = (self.base, self.new)
        base_ns, new_ns = (0.0 if row is None else float(np.median(row.step_ns)) for row in rows)
        return base_ns, new_ns

    @property
    def counts(self) -> tuple[float, float]:
        """How often it comes in a step of both, on average."""
        base, new = (0.0 if row is None else row.count for row in (self.base, self.new))
        return base, new


class _KeyedRow(NamedTuple):
    key: OpKey
    row: OpRow


def paired(base: OpTable, new: OpTable) -> Iterator[Pair]:
    """Return all rows of both tables, each once.

    Lines move when code is edited above them. So the calls of an op in one function are paired in
    their order where both runs have as many of them, and taken together where they have not. What
    is left is paired by name and shapes, then by name and place, then by name and function.
    """
    # By line, as their keys are sorted.
    sides = ([_KeyedRow(key, table[key]) for key in sorted(table)] for table in (base, new))
    mine, theirs = (_grouped(rows, _function) for rows in sides)
    for place in dict.fromkeys([*mine, *theirs]):
        ours, others = mine.get(place, []), theirs.get(place, [])
        if ours and others:
            if len(ours) != len(others):
                ours, others = [_merged(ours)], [_merged(others)]
            for one, other in zip(ours, others, strict=True):
                yield Pair(other.key, one.row, other.row)
            del mine[place], theirs[place]
    for how, looser in _LOOSER:
        mine, theirs = (_grouped(chain(*each.values()), looser) for each in (mine, theirs))
        for key in [each for each in mine if each in theirs]:
            one, other = _merged(mine.pop(key)), _merged(theirs.pop(key))
            yield Pair(other.key, one.row, other.row, how)
        # What found no counterpart is told by op and function again.
        mine, theirs = (_grouped(chain(*each.values()), _function) for each in (mine, theirs))
    for one in map(_merged, mine.values()):
        yield Pair(one.key, one.row, None)
    for other in map(_merged, theirs.values()):
        yield Pair(other.key, None, other.row)


def _function(key: OpKey) -> Hashable:
    return key.sort, key.name, key.shapes, key.file, key.function


# The Python code of a function has neither name nor shapes: its function tells it.
_LOOSER: tuple[tuple[str, Callable[[OpKey], Hashable]], ...] = (
    ("place", lambda key: (key.sort, key.name, key.shapes, "" if key.name else key.function)),
    ("shapes", lambda key: (key.sort, key.name, key.file, key.function)),
    ("place and shapes", lambda key: (key.sort, key.name, key.function)),
)


def _grouped(
    rows: Iterable[_KeyedRow], by: Callable[[OpKey], Hashable]
) -> dict[Hashable, list[_KeyedRow]]:
    groups: dict[Hashable, list[_KeyedRow]] = {}
    for each in rows:
        groups.setdefault(by(each.key), []).append(each)
    return groups


def _merged(rows: list[_KeyedRow]) -> _KeyedRow:
    """Several rows as one, with the place of the one that takes longest."""
    if len(rows) == 1:
        return rows[0]
    most = max(rows, key=lambda each: float(each.row.step_ns.sum()))
    step_ns = np.sum([each.row.step_ns for each in rows], axis=0)
    return _KeyedRow(most.key, OpRow(most.row.location, step_ns, sum(r.row.count for r in rows)))
