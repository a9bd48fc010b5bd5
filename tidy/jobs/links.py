"""Groups and pairs of ranks whose transfers take longer than those of others of their kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..trace.intervals import repeated
from .matching import Matched
from .stretches import medians
from .table import Floats, Ints
from .waits import MemberWaits

# A link is slow from so much longer a transfer on: topologies make some per cent.
_LONGER = 1.3
_MOST_JITTER = 6.0
_FEWEST_LINKS = 3
# Of two links it is not known which one is as it should be. So the slow one has to be slower by
# far, in most of its transfers than the other in most of its own, and to lie on known nodes.
_FAR_LONGER = 2.0
_FEWEST_COLLECTIVES = 5
_ALIKE = 1.15  # links as slow as another one are so by the topology, such as those among nodes


@dataclass(frozen=True, slots=True)
class SlowLink:
    """The members of a group, or a pair, that exchange messages slower than others of its kind.

    Attributes:
        ranks: their global ranks.
        group: an index into `Matched.groups`, -1 if not recorded.
        operation: an index into `Matched.operations`.
        nbytes: the size of the messages.
        transfer_ns, usual_ns: the median transfer here, and of all links of this kind; if there
            are two, that of the other one.
        gbytes_per_s, usual_gbytes_per_s: the same as bandwidth of the algorithm.
        others: how many links of this kind there are beside it.
        collectives: how many of the link's collectives were counted.
    """

    ranks: tuple[int, ...]
    group: int
    operation: int
    nbytes: int
    transfer_ns: float
    usual_ns: float
    others: int
    collectives: int

    @property
    def gbytes_per_s(self) -> float:
        """Bytes of the message by its time."""
        return self.nbytes / max(self.transfer_ns, 1.0)

    @property
    def usual_gbytes_per_s(self) -> float:
        """The same on the other links."""
        return self.nbytes / max(self.usual_ns, 1.0)


def bandwidth(matched: Matched, waits: MemberWaits) -> Floats:
    """Return the bytes of the message by the transfer's ns (GB/s) of each collective; (c,).

    NaN where the size is not recorded, or the arrivals are not known.
    """
    if not len(matched.group):
        return np.zeros(0)
    nbytes = np.maximum.reduceat(matched.nbytes, matched.first[:-1])
    tells = waits.is_known & (nbytes > 0) & (waits.transfer_ns > 0)
    return np.where(tells, nbytes / np.maximum(waits.transfer_ns, 1), np.nan)


def slow_links(
    matched: Matched, waits: MemberWaits, hosts: Mapping[int, str] | None = None
) -> list[SlowLink]:
    """Find the links that are slow, the slowest first, each among those on as many nodes.

    Args:
        hosts: the node of each rank, "" if unknown. Links with a rank of which it is unknown are
            compared with one another, whatever their nodes, if there are more than two.
    """
    speed = bandwidth(matched, waits)
    some = np.flatnonzero(np.isfinite(speed))
    if not len(some):
        return []
    first, count = matched.first[:-1], matched.count
    nbytes = np.maximum.reduceat(matched.nbytes, first)
    pair = np.where(matched.source >= 0, (matched.source << 32) + matched.target, -1)
    columns = np.stack([matched.operation, nbytes, count, matched.group, pair])[:, some]
    links, link = np.unique(columns, axis=1, return_inverse=True)
    link = link.reshape(-1)
    order = np.lexsort((waits.transfer_ns[some], link))
    size = np.bincount(link)
    times, begin = waits.transfer_ns[some][order], np.append(0, np.cumsum(size))
    of_link = medians(times, begin)
    example = some[order[begin[:-1]]]
    nodes = _nodes(matched, example, hosts or {})
    kinds, kind = np.unique(np.vstack([links[:3], nodes]), axis=1, return_inverse=True)
    kind = kind.reshape(-1)
    found = []
    for number in range(kinds.shape[1]):
        mine = np.flatnonzero((kind == number) & (size >= _FEWEST_COLLECTIVES))
        if len(mine) < 2:
            continue
        usual = float(np.median(of_link[mine]))
        if len(mine) < _FEWEST_LINKS:
            quick, slower = mine[np.argsort(of_link[mine], kind="stable")].tolist()
            # The first quarter of the one, and the last of the other: times ascend in each link.
            first, last = begin[slower] + size[slower] // 4, begin[quick + 1] - 1 - size[quick] // 4
            is_far = times[first] >= _FAR_LONGER * times[last]
            usual = float(of_link[quick])
            both = {_members(matched, int(example[each])) for each in (quick, slower)}
            is_far &= len(both) == 2  # and not both ways of one
            slow = (mine == slower) & is_far & (nodes[slower] > 0)
        else:
            spread = 1.4826 * float(np.median(np.abs(of_link[mine] - usual)))
            slow = of_link[mine] > max(_LONGER * usual, usual + _MOST_JITTER * spread)
        members = {each: _members(matched, int(example[each])) for each in mine[slow].tolist()}
        for each in mine[slow].tolist():
            ratios = {n: of_link[n] / of_link[each] for n in members if members[n] != members[each]}
            if any(1 / _ALIKE < ratio < _ALIKE for ratio in ratios.values()):
                continue
            found.append(
                SlowLink(
                    members[each], int(links[3, each]),
                    int(links[0, each]), int(links[1, each]), float(of_link[each]), usual,
                    len(mine) - 1, int(size[each]),
                )
            )  # fmt: skip
    return sorted(found, key=lambda each: -each.transfer_ns / each.usual_ns)


def _nodes(matched: Matched, collectives: Ints, hosts: Mapping[int, str]) -> Ints:
    """Count the nodes of each of some collectives, 0 if that of a member is not known; (n,)."""
    names = [hosts.get(rank, "") for rank in matched.ranks.tolist()]
    known, host = np.unique(names, return_inverse=True)
    which, member = repeated(matched.count[collectives], matched.first[collectives])
    pairs = np.unique(which.astype(np.int64) * len(known) + host.reshape(-1)[matched.place[member]])
    nodes = np.bincount(pairs // len(known), minlength=len(collectives))
    if known[0] == "":
        nodes[pairs[pairs % len(known) == 0] // len(known)] = 0
    return nodes


def _members(matched: Matched, collective: int) -> tuple[int, ...]:
    places = matched.place[matched.first[collective] : matched.first[collective + 1]]
    return tuple(matched.ranks[places].tolist())
