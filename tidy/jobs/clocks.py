"""The ranks' clocks, set by what all members of a collective see at once: its end.

Each end is the collective's own time, plus the clock's offset and drift on that rank, plus noise
of some microseconds. Offsets and drifts are those of least squares over all members, with weights
that let a few ends go which lie far off, as a busy host makes them. Operations in which some
members are done first count little, and only tell where nothing else connects ranks.

The equations are solved by conjugate gradients on the columns, so that time and memory grow with
the number of members; of each link between the same ranks some hundred collectives are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from .matching import Matched
from .stretches import dense, medians
from .table import Bools, Floats, Ints

# How far apart the ends of one collective may lie on different ranks, clocks set right.
ENDS_TOGETHER_NS = 200_000
# The same on the host, where a thread may wait for a processor before it sees that one is done.
ENDS_TOGETHER_ON_HOST_NS = 10_000_000

_MOST_OF_A_LINK = 256
_ROUNDS, _MOST_ITERATIONS = 8, 400
_USUAL_DRIFT = 1e-4  # clocks of machines are rarely off by more than 100 us a second
_LEAST_NOISE_NS = 500.0  # files have times in us, and kernels of one collective end apart
_LITTLE = 0.01  # the weight of an operation in which members may be done first
_FAR = 2.0  # an end that is so many deviations off counts by its distance alone


@dataclass(frozen=True, slots=True)
class Clocks:
    """How the clock of each rank stands to that of the first rank it is connected with.

    The common time of a rank's time t is t - offset_ns - drift * (t - origin_ns).

    Attributes:
        offset_ns: shape (r,), by the places of the ranks.
        drift: how much faster each clock goes, as a share; shape (r,).
        origin_ns: the time by each rank's own clock at which its offset holds; shape (r,).
        uncertainty_ns: how far an aligned time may be off, at two standard errors and at the end of
            the recording; shape (r,). NaN for ranks that no collective connects, or whose ends lie
            too far apart.
        component: ranks with the same number have a common time; shape (r,).
        residual_ns: of each member, by how much its end lies after the collective's; shape (m,).
    """

    offset_ns: Ints
    drift: Floats
    origin_ns: Ints
    uncertainty_ns: Floats
    component: Ints
    residual_ns: Floats

    def common_ns(self, place: Ints, times_ns: Ints) -> Ints:
        """Return the common time of times by the clocks of the ranks at `place`; shape (n,)."""
        since = times_ns - self.origin_ns[place]
        drifted = np.rint(self.drift[place] * since).astype(np.int64)
        return times_ns - self.offset_ns[place] - drifted

    def together(self, matched: Matched) -> Bools:
        """Tell of each collective whether its ends lie together, as those of one do; shape (c,)."""
        if not len(matched.group):
            return np.zeros(0, bool)
        first = matched.first[:-1]
        spread = np.maximum.reduceat(self.residual_ns, first)
        spread = spread - np.minimum.reduceat(self.residual_ns, first)
        limit = np.where(matched.on_device, ENDS_TOGETHER_NS, ENDS_TOGETHER_ON_HOST_NS)
        return (spread < limit) | ~matched.all_wait


def align(matched: Matched) -> Clocks:
    """Estimate offset and drift of each rank's clock from the ends of matched collectives."""
    ranks, place = len(matched.ranks), matched.place
    # Times are counted from each rank's first end, since 64-bit floats do not hold epochs in ns.
    origin = np.full(ranks, np.iinfo(np.int64).max)
    np.minimum.at(origin, place, matched.end_ns)
    origin[origin == np.iinfo(np.int64).max] = 0
    taken = _taken(matched)
    members = np.repeat(taken, matched.count)
    at = place[members]
    number = _renumbered(matched.collective[members])
    since = (matched.end_ns - origin[place]).astype(float)
    weight = np.where(matched.all_wait, 1.0, _LITTLE)[matched.collective[members]]
    component = _components(ranks, at, number)
    half = max(float(since[members].max(initial=0)) / 2, 1.0)
    time = since[members] / half - 1
    solution = _solve(since[members], weight, at, number, time, ranks, half)
    offset, slope = solution[:ranks], solution[ranks:]
    reference = _references(component, np.bincount(at, minlength=ranks))
    # Times since the first end t of a rank and u of its reference are those of one moment if
    # t - offset - slope * (t / half - 1) is the same of both: solved for u.
    base, rate = offset - slope, 1 - slope / half
    drift = 1 - rate / rate[reference]
    base = (base - base[reference]) / rate[reference]
    offset_ns = np.rint(base).astype(np.int64) + origin - origin[reference]
    residual = _residuals(solution, since[members], weight, at, number, time, ranks)
    on_device = bool(matched.on_device.all())
    limit_ns = ENDS_TOGETHER_NS if on_device else ENDS_TOGETHER_ON_HOST_NS
    sure = _uncertainty(residual, at, _links(matched)[taken][number], ranks, reference, limit_ns)
    clocks = Clocks(offset_ns, drift, origin, sure, component, np.zeros(0))
    aligned = clocks.common_ns(place, matched.end_ns) - origin[reference][place]
    middle = np.repeat(medians(aligned, matched.first), matched.count)
    return replace(clocks, residual_ns=aligned - middle)


def _taken(matched: Matched) -> Bools:
    """Choose of each link, that is of the same ranks, collectives spread over the recording."""
    link = _links(matched)
    order = np.lexsort((matched.start_ns[matched.first[:-1]], link))
    fresh = np.append(True, np.diff(link[order]) != 0)[: len(order)]
    begins = np.flatnonzero(fresh)
    count = np.diff(np.append(begins, len(order)))
    number = np.arange(len(order)) - np.repeat(begins, count)
    size = np.repeat(count, count)
    most = np.minimum(size, _MOST_OF_A_LINK)
    result = np.empty(len(order), bool)
    result[order] = (number + 1) * most // size > number * most // size
    return result


def _links(matched: Matched) -> Ints:
    """Number what the same ranks exchange, apart by whether all wait; shape (c,)."""
    return dense((matched.source, matched.target, matched.group, matched.all_wait.astype(np.int64)))


def _renumbered(collective: Ints) -> Ints:
    """Number the collectives that are there one after the other; `collective` ascends."""
    return np.cumsum(np.append(0, np.diff(collective) != 0)[: len(collective)])


def _components(ranks: int, place: Ints, number: Ints) -> Ints:
    """Number the sets of ranks that collectives connect, by their first rank; shape (r,)."""
    label = np.arange(ranks)
    if not len(place):
        return label
    first = np.flatnonzero(np.append(True, np.diff(number) != 0))
    while True:
        least = np.minimum.reduceat(label[place], first)[number]
        new = label.copy()
        np.minimum.at(new, place, least)
        np.minimum.at(new, label[place], least)
        new = new[new]
        if (new == label).all():
            return label
        label = new


def _references(component: Ints, rows: Ints) -> Ints:
    """Find for each rank the one whose clock is the common one: that with most collectives."""
    best = np.arange(len(component))
    order = np.lexsort((-np.arange(len(rows)), rows))  # the last is the best
    best[component[order]] = order
    return best[component]


def _solve(
    ends: Floats, weight: Floats, at: Ints, number: Ints, time: Floats, ranks: int, half_ns: float
) -> Floats:
    """Fit `ends` by an offset and a slope of each rank and a time of each collective; (2r,)."""
    solution = np.zeros(2 * ranks)
    robust, noise = weight, _LEAST_NOISE_NS
    for _ in range(_ROUNDS):
        # Drifts that are usual for clocks count as little as the noise lets them be told.
        ridge = (noise / (_USUAL_DRIFT * half_ns)) ** 2
        residual = _residuals(solution, ends, robust, at, number, time, ranks)

        def apply(x: Floats, w: Floats = robust, ridge: float = ridge) -> Floats:
            shift = x[at] + x[ranks + at] * time
            shift = w * (shift - _weighted(shift, w, number))
            slope = np.bincount(at, shift * time, ranks) + ridge * x[ranks:]
            return np.concatenate([np.bincount(at, shift, ranks), slope])

        pull = robust * residual
        right = np.concatenate(
            [np.bincount(at, pull, ranks), np.bincount(at, pull * time, ranks)]
        ) - np.concatenate([np.zeros(ranks), ridge * solution[ranks:]])
        diagonal = np.concatenate(
            [np.bincount(at, robust, ranks), np.bincount(at, robust * time**2, ranks) + ridge]
        )
        step = _conjugate_gradients(apply, right, np.maximum(diagonal, 1e-12))
        solution = solution + step
        residual = _residuals(solution, ends, robust, at, number, time, ranks)
        noise = _noise(residual * np.sqrt(weight))
        robust = weight * np.minimum(1, _FAR * noise / np.maximum(np.abs(residual), 1e-9))
        if np.abs(step).max(initial=0) < 1:
            break
    return solution


def _residuals(
    solution: Floats, ends: Floats, weight: Floats, at: Ints, number: Ints, time: Floats, ranks: int
) -> Floats:
    """Return by how much each end is later than its collective's, clocks set; shape (m,)."""
    left = ends - solution[at] - solution[ranks + at] * time
    return left - _weighted(left, weight, number)


def _weighted(values: Floats, weight: Floats, number: Ints) -> Floats:
    """Return for each member the weighted mean of its collective; shape (m,)."""
    total = np.bincount(number, weight)
    mean: Floats = (np.bincount(number, values * weight) / np.maximum(total, 1e-300))[number]
    return mean


def _noise(residual: Floats) -> float:
    """Return the deviation of most of the residuals."""
    if not len(residual):
        return _LEAST_NOISE_NS
    return max(1.4826 * float(np.median(np.abs(residual))), _LEAST_NOISE_NS)


def _conjugate_gradients(
    apply: Callable[[Floats], Floats], right: Floats, diagonal: Floats
) -> Floats:
    """Solve the symmetric equations `apply(x) = right`, which need not have full rank."""
    x, left = np.zeros_like(right), right.copy()
    scaled = left / diagonal
    direction, size = scaled, float(left @ scaled)
    # Down to a tenth of a ns; further on only what rounding leaves would grow.
    enough = max(size * 1e-22, 0.01 * len(right))
    for _ in range(_MOST_ITERATIONS):
        if size <= enough:
            break
        image = apply(direction)
        curve = float(direction @ image)
        if curve <= 0:
            break
        x = x + size / curve * direction
        left = left - size / curve * image
        scaled = left / diagonal
        last, size = size, float(left @ scaled)
        direction = scaled + size / last * direction
    return x


def _uncertainty(
    residual: Floats, at: Ints, link: Ints, ranks: int, reference: Ints, limit_ns: float
) -> Floats:
    """Add up what is not known on the surest way from each rank to its reference; shape (r,).

    NaN where ends lie further apart than `limit_ns`: these are not the same collectives.
    """
    result = np.full(ranks, np.nan)
    if not len(at):
        return result
    # Of each rank: the deviation of its ends, and by how many collectives it is reduced.
    order = np.lexsort((np.abs(residual), at))
    bounds = np.append(0, np.cumsum(np.bincount(at, minlength=ranks)))
    has = np.diff(bounds) > 0
    sorted_size = np.abs(residual)[order]
    spread = np.zeros(ranks)
    spread[has] = 1.4826 * sorted_size[((bounds[:-1] + bounds[1:]) // 2)[has]]
    spread = np.maximum(spread, _LEAST_NOISE_NS)
    # A time at the end of a recording has twice the error of one in its middle, by its drift.
    error = (2 * 1.25 * spread) ** 2 / np.maximum(np.diff(bounds), 1)
    found = _shortest(error, at, link, np.unique(reference[has]))
    found[~has] = np.nan
    sure = np.isfinite(found) & (spread < limit_ns)
    return np.where(sure, 2 * np.sqrt(found) + 1_000, np.nan)


def _shortest(error: Floats, at: Ints, link: Ints, sources: Ints) -> Floats:
    """Return the least sum of errors on a way over links from a source to each rank; shape (r,).

    Each link adds the error of the rank that the way comes from, and of that to which it goes.
    """
    ranks = len(error)
    pairs = np.unique(link * ranks + at)
    of_link, of_rank = np.divmod(pairs, ranks)
    links = int(of_link.max(initial=-1)) + 1
    # Nodes are the ranks, and after them the links.
    tail = np.concatenate([of_rank, of_link + ranks])
    head = np.concatenate([of_link + ranks, of_rank])[np.argsort(tail, kind="stable")].tolist()
    bounds = np.append(0, np.cumsum(np.bincount(tail, minlength=ranks + links))).tolist()
    weights = error.tolist()
    found = [float("inf")] * (ranks + links)
    heap = [(0.0, source) for source in sources.tolist()]
    for _, source in heap:
        found[source] = 0.0
    while heap:
        far, node = heappop(heap)
        if far > found[node]:
            continue
        for other in head[bounds[node] : bounds[node + 1]]:
            through = far + weights[node if node < ranks else other]
            if through < found[other]:
                found[other] = through
                heappush(heap, (through, other))
    return np.array(found[:ranks])
