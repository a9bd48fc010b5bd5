"""Which rows of the ranks' tables are one collective.

Where the process group and its sequence number are recorded, these tell. Else the members of a
group agree in the step, the operation, its number in the step, and the size. Point-to-point
operations are matched by their two ranks and their order between them. What cannot be matched is
counted, by the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .roles import roles_of
from .stretches import dense, number_within
from .table import SEND_RECV, Bools, Collectives, Ints, ProcessGroup, ends_together, has_own_sizes

NO_PEER = "point-to-point operations whose peer is not recorded"
ALONE = "collectives of groups of which fewer than two ranks were given"
NOT_ON_ALL = "collectives that some members did not record"
OTHER_COUNT = "collectives of steps in which members have another number of them"
OTHER_SIZE = "collectives whose members have other sizes"
TOO_MANY = "collectives on more ranks than their group has"

_BY_NUMBER, _BY_ORDER, _BY_PAIR = 0, 1, 2
_Name = TypeVar("_Name")


@dataclass(frozen=True, slots=True)
class OtherWaits:
    """Waits of ranks for collectives that are not matched; columns have shape (n,).

    Attributes:
        place: the rank as an index into `Matched.ranks`.
        end_ns: by the rank's clock.
        waited_ns: for how long until then.
    """

    place: Ints
    end_ns: Ints
    waited_ns: Ints


@dataclass(frozen=True, slots=True)
class Matched:
    """Collectives matched across ranks.

    A member is one rank's part in one collective. Members lie one collective after the other, by
    rank in each; columns of members have shape (m,), of collectives shape (c,).

    Attributes:
        ranks: the global rank at each place; shape (r,), ascending.
        groups, operations: what the indexes stand for.
        first: where the members of each collective begin, and where all end; shape (c + 1,).
        place: the member's rank as an index into `ranks`.
        row: the member's row in its rank's table.
        start_ns, end_ns: by the clock of the member's rank.
        launch_ns: when the host launched it, by the same clock.
        nbytes: the size that the member passed, -1 if not recorded.
        exposed_ns: of the member, see `Collectives`.
        group, operation, step: of each collective; a step is the first member's.
        source, target: of each collective, places in its group, -1 for all but point-to-point.
        on_device: whether kernels ran on all members.
        unmatched: rows that are not matched, by the reason.
        missing: the number of the job's ranks that were not given.
        blocked_ns: of the member, see `Collectives`; `waited_ns` has it where it is not known, too.
        role: of the member's rank in its step: ranks that do the same work have the same.
        slot: of the member in its role: what corresponds to it on the other ranks has the same.
        others: when ranks waited for collectives that are not matched.
        knows_waits: whether all tables have the column `blocked_ns`. If not, what is not hidden
            stands for it, which is more.
    """

    ranks: Ints
    groups: tuple[ProcessGroup, ...]
    operations: tuple[str, ...]
    first: Ints
    place: Ints
    row: Ints
    start_ns: Ints
    end_ns: Ints
    launch_ns: Ints
    nbytes: Ints
    exposed_ns: Ints
    group: Ints
    operation: Ints
    step: Ints
    source: Ints
    target: Ints
    on_device: Bools
    unmatched: Mapping[str, int]
    missing: int
    blocked_ns: Ints
    role: Ints
    slot: Ints
    others: OtherWaits
    knows_waits: bool

    @property
    def waited_ns(self) -> Ints:
        """How long each member waited at the end of its part: all of it if not known; (m,)."""
        return _waited_ns(self.start_ns, self.end_ns, self.blocked_ns)

    @property
    def steps(self) -> Ints:
        """The numbers of the steps in which there are collectives, ascending."""
        steps: Ints = np.unique(self.step[self.step >= 0])
        return steps

    @property
    def collective(self) -> Ints:
        """The collective of each member; shape (m,)."""
        return np.repeat(np.arange(len(self.group)), np.diff(self.first))

    @property
    def count(self) -> Ints:
        """How many members each collective has; shape (c,)."""
        return np.diff(self.first)

    def beside(self, place: int) -> Ints:
        """Return the places of the other ranks that do the same work in some step."""
        roles = self.role[self.place == place]
        places = np.unique(self.place[np.isin(self.role, roles)])
        others: Ints = places[places != place]
        return others

    @property
    def all_wait(self) -> Bools:
        """Of each collective whether no member is done before all have arrived; shape (c,)."""
        by_operation = np.array([ends_together(each) for each in self.operations], bool)
        result: Bools = by_operation[self.operation] if len(self.operation) else np.zeros(0, bool)
        return result


def _waited_ns(start_ns: Ints, end_ns: Ints, blocked_ns: Ints) -> Ints:
    """Return how long ranks waited at the end of their parts: all of a part if not known; (n,)."""
    took = np.maximum(end_ns - start_ns, 0)
    waited: Ints = np.where(blocked_ns >= 0, np.minimum(blocked_ns, took), took)
    return waited


def match(tables: Sequence[Collectives]) -> Matched:
    """Match the collectives of the ranks of one job, whose numbers are all different."""
    tables = sorted(tables, key=lambda each: each.rank)
    ranks = np.array([each.rank for each in tables], np.int64)
    groups, group = _numbered([each.groups for each in tables], [each.group for each in tables])
    operations, operation = _numbered(
        [each.operations for each in tables], [each.operation for each in tables]
    )
    place = np.repeat(np.arange(len(tables)), [len(each) for each in tables])
    row = _concatenated([np.arange(len(each)) for each in tables])
    columns = {
        name: _concatenated([_column(each, name) for each in tables])
        for name in (
            "step", "seq", "nbytes", "start_ns", "end_ns", "launch_ns", "on_device", "source",
            "target", "exposed_ns", "blocked_ns",
        )
    }  # fmt: skip
    is_pair = np.array([each == SEND_RECV for each in operations], bool)
    is_pair = is_pair[operation] if len(operation) else np.zeros(0, bool)
    by_number = ~is_pair & (group >= 0) & (columns["seq"] >= 0)
    kind = np.where(is_pair, _BY_PAIR, np.where(by_number, _BY_NUMBER, _BY_ORDER))
    peers = columns["source"] << 32 | columns["target"]
    key = (
        np.where(by_number, columns["seq"], columns["step"]),
        np.where(is_pair, peers, operation),
        group,
        kind,
    )
    family = dense(key)
    order = number_within(family * max(len(tables), 1) + place, columns["launch_ns"])
    by_collective = np.lexsort((place, order, family))
    collective = dense((order[by_collective], family[by_collective]))
    first = np.flatnonzero(np.append(True, np.diff(collective) != 0)[: len(collective)])
    count = np.diff(np.append(first, len(collective)))
    head = by_collective[first]

    expected = _expected(groups, group, place, ranks)
    is_even = _is_even(family, place, len(tables))[family[head]]
    sizes = columns["nbytes"][by_collective]
    if len(first):
        same_size = np.maximum.reduceat(sizes, first) == np.minimum.reduceat(sizes, first)
    else:
        same_size = np.zeros(0, bool)
    own_size = np.array([has_own_sizes(each) for each in operations], bool)
    same_size |= own_size[operation[head]] if len(head) else False
    of_group = expected[group[head]]  # the last entry is for group -1
    of_group = np.where(kind[head] == _BY_PAIR, 2, of_group)
    lacks_peer = (kind[head] == _BY_PAIR) & (
        (columns["source"][head] < 0) | (columns["target"][head] < 0)
    )
    reasons = {
        NO_PEER: lacks_peer,
        ALONE: of_group < 2,
        OTHER_COUNT: (kind[head] != _BY_NUMBER) & ~is_even,
        NOT_ON_ALL: count < of_group,
        TOO_MANY: count > of_group,
        OTHER_SIZE: (kind[head] == _BY_ORDER) & ~same_size,
    }
    # A group of one rank has nobody to wait for, and nothing of it is missing.
    left, unmatched = ~_are_of_one(groups)[group[head]], dict[str, int]()
    for reason, wrong in reasons.items():
        if (lost := int(count[left & wrong].sum())) > 0:
            unmatched[reason] = lost
        left &= ~wrong
    is_matched = np.repeat(left, count)
    mine, others = by_collective[is_matched], by_collective[~is_matched]
    head, count = head[left], count[left]
    first = np.append(0, np.cumsum(count))
    on_device = columns["on_device"][mine] != 0
    if len(head):
        on_device = np.logical_and.reduceat(on_device, first[:-1])
    step = columns["step"].copy()
    step[mine] = np.repeat(columns["step"][head], count)  # ranks may number their steps otherwise
    told = {**columns, "step": step, "place": place, "group": group, "operation": operation}
    role, slot = roles_of(groups, operations, ranks, told)
    world = max((each.world_size for each in tables), default=0)
    return Matched(
        ranks, groups, operations, first, place[mine], row[mine],
        columns["start_ns"][mine], columns["end_ns"][mine], columns["launch_ns"][mine],
        columns["nbytes"][mine], columns["exposed_ns"][mine],
        group[head], operation[head], columns["step"][head],
        columns["source"][head], columns["target"][head], on_device, unmatched,
        max(world - len(tables), 0),
        blocked_ns=columns["blocked_ns"][mine], role=role[mine], slot=slot[mine],
        others=OtherWaits(
            place[others], columns["end_ns"][others],
            _waited_ns(*(columns[name][others] for name in ("start_ns", "end_ns", "blocked_ns"))),
        ),
        knows_waits=all(each.blocked_ns is not None for each in tables),
    )  # fmt: skip


def _column(table: Collectives, name: str) -> Ints:
    column: Ints | None = getattr(table, name)
    return table.exposed_ns if column is None else column


def _concatenated(columns: Sequence[Ints]) -> Ints:
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)


def _numbered(
    names: Sequence[tuple[_Name, ...]], columns: Sequence[Ints]
) -> tuple[tuple[_Name, ...], Ints]:
    """Give what the ranks number each for itself one number for all; -1 stays -1."""
    number = dict[_Name, int]()
    result = []
    for mine, column in zip(names, columns, strict=True):
        new = np.array([*(number.setdefault(each, len(number)) for each in mine), -1], np.int64)
        result.append(new[column])
    return tuple(number), _concatenated(result)


def _is_even(family: Ints, place: Ints, ranks: int) -> Bools:
    """Tell of each family whether the ranks that have it have as many rows of it; (families,)."""
    key, count = np.unique(family * ranks + place, return_counts=True)
    if not len(key):
        return np.zeros(0, bool)
    first = np.flatnonzero(np.append(True, np.diff(key // ranks) != 0))
    even: Bools = np.maximum.reduceat(count, first) == np.minimum.reduceat(count, first)
    return even


def _are_of_one(groups: Sequence[ProcessGroup]) -> Bools:
    """Tell which groups have one rank alone; the last entry is for an unknown group."""
    return np.array([*(each.size == 1 or len(each.ranks) == 1 for each in groups), False], bool)


def _expected(groups: Sequence[ProcessGroup], group: Ints, place: Ints, ranks: Ints) -> Ints:
    """Count how many of the given ranks each group has; the last entry is for an unknown group."""
    pairs = np.unique(group * max(len(ranks), 1) + place)
    found = np.bincount(pairs[pairs >= 0] // max(len(ranks), 1), minlength=len(groups))
    # A rank that recorded no collectives says nothing of those of the others.
    result = np.append(found, len(np.unique(place[group < 0])))
    given = set(ranks.tolist())
    for number, each in enumerate(groups):
        if each.ranks:
            result[number] = len(given.intersection(each.ranks))
        elif each.size:
            result[number] = min(result[number], each.size)
    return result
