"""Which ranks stay late, which are late now and then, and which only jitter.

The measure is a rank's own time in a step, above the median of the other ranks of its role. A rank
stays late if the median of its steps is above all that jitter explains: the spread over steps,
reduced by their number, and the spread over ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from .chain import Chain
from .matching import Matched
from .table import Bools, Floats, Ints
from .waits import MemberWaits

# Of the step, what a rank has to be late by: GPUs of one kind differ by a per cent or two.
LEAST_SHARE = 0.02
# One step in which it is late by less says nothing.
LEAST_OF_A_STEP = 0.1
# How many deviations a step has to stand out by.
MOST_JITTER = 6.0
_BEYOND_HIGHEST = 2.0  # the same of a rank, above what the highest of as many normal numbers has
_MOST_STEPS = 2 / 3  # a rank that stays late is so in this part of the steps
_MOST_OF_ALL = 0.5  # one that is late now and then has this part of all such time,
_NEARLY = 2 / 3  # and of what on other ranks is nearly as long
_BESIDE_LATEST = 0.25  # what is less of what the latest rank is late by may come from that
FEWEST_STEPS = 3
_FEWEST_FOR_HALF = 8
_FEWEST_RANKS = 4  # of fewer the spread over ranks says nothing


class Verdict(Enum):
    """What a rank is."""

    STAYS_LATE = "stays late"
    PASSES = "late now and then"
    NOT_LATE = "not late"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late each rank is by its own time; r ranks, s steps.

    Attributes:
        steps: the numbers of the steps; shape (s,).
        late_ns: the rank's own time above the others', in each step; NaN where a rank has no
            collective that tells; shape (r, s).
        step_ns: the length of a step in the median, 0 if not known.
        usual_ns: the median over the steps; shape (r,).
        jitter_ns: the deviation of a rank's steps that is ordinary here.
        noise_ns: how far the medians of ranks that are not late lie apart.
        last_share: in what part of the collectives each comes last; shape (r,).
        verdicts: one for each rank.
    """

    steps: Ints
    late_ns: Floats
    step_ns: float
    usual_ns: Floats
    jitter_ns: float
    noise_ns: float
    last_share: Floats
    verdicts: tuple[Verdict, ...]

    def late_steps(self, place: int) -> Ints:
        """Return the numbers of the steps in which a rank is late beyond what is ordinary."""
        limit = max(self.jitter_ns * MOST_JITTER, LEAST_OF_A_STEP * self.step_ns)
        if self.verdicts[place] == Verdict.STAYS_LATE:
            limit = self.usual_ns[place] / 2
        with np.errstate(invalid="ignore"):
            late: Ints = self.steps[self.late_ns[place] > limit]
        return late

    def steps_known(self, some: Bools) -> int:
        """Count the steps in which it is known of one of some ranks, shape (r,), how late it is."""
        return int(np.count_nonzero(np.isfinite(self.late_ns[some]).any(axis=0)))


def lateness_of(matched: Matched, waits: MemberWaits, chain: Chain) -> Lateness:
    """Judge each rank."""
    own = chain.own
    # What only leads to the first step, or to one after a gap, is no whole step.
    inside = np.isfinite(own.own_ns).any(axis=0)
    late, kept = own.late_ns[:, inside], own.steps[inside]
    step_ns = _step_ns(matched, own.steps, own.column)
    return judged(kept, late, step_ns, _last_share(matched, waits))


def judged(steps: Ints, late_ns: Floats, step_ns: float, last_share: Floats) -> Lateness:
    """Judge ranks by how late each is in each step; see `Lateness` for the arguments."""
    ranks = len(late_ns)
    counted = np.isfinite(late_ns).sum(axis=1) if late_ns.size else np.zeros(ranks, np.int64)
    knows = (counted >= FEWEST_STEPS) & (step_ns > 0)
    usual = np.zeros(ranks)
    for number in np.flatnonzero(knows).tolist():
        usual[number] = np.nanmedian(late_ns[number])
    if not knows.any():
        verdicts = (Verdict.NOT_KNOWN,) * ranks
        return Lateness(steps, late_ns, step_ns, usual, 0.0, 0.0, last_share, verdicts)
    # From one step to the next, since a rank may be late from some step on.
    changes = np.abs(np.diff(late_ns[knows], axis=1))
    jitter = 1.4826 / np.sqrt(2) * float(np.nanmedian(changes)) if changes.size else 0.0
    of_median = 1.2533 * jitter / np.sqrt(np.median(counted[knows]))
    among = usual[knows]
    apart = 0.0
    if len(among) >= _FEWEST_RANKS:
        apart = _spread(among)
    noise = float(np.hypot(of_median, apart))
    # The highest of 8 normal numbers lies 1.4 deviations out, of 512 3.0, of 10,000 3.9.
    deviations = _BEYOND_HIGHEST + float(np.sqrt(2 * np.log(max(len(among), 2))))
    least = max(LEAST_SHARE * step_ns, deviations * noise)
    with np.errstate(invalid="ignore"):
        often = (late_ns > usual[:, None] / 2).sum(axis=1) >= _MOST_STEPS * counted
        stays = knows & (usual > least) & often
        # While a rank waits for a very late one its host gains time, which others do not have.
        lesser_ns = _BESIDE_LATEST * float(np.max(usual, initial=0, where=stays))
        stays &= usual > lesser_ns
        limit = max(MOST_JITTER * jitter, LEAST_OF_A_STEP * step_ns, lesser_ns)
        passing, lesser = (
            np.where((late_ns > least_ns) & ~stays[:, None], late_ns, 0.0).sum(axis=1)
            for least_ns in (limit, limit * _NEARLY)
        )
    enough = passing >= LEAST_SHARE * step_ns * np.maximum(counted, 1)
    passes = knows & enough & (passing >= _MOST_OF_ALL * lesser.sum()) & (passing > 0)
    verdicts = tuple(
        Verdict.STAYS_LATE if s else Verdict.PASSES if p else
        Verdict.NOT_LATE if k else Verdict.NOT_KNOWN
        for s, p, k in zip(stays.tolist(), passes.tolist(), knows.tolist(), strict=True)
    )  # fmt: skip
    return Lateness(steps, late_ns, step_ns, usual, jitter, noise, last_share, verdicts)


def _spread(among: Floats) -> float:
    """Return the deviation of ranks that are not late: of the half that lie closest together.

    Of few ranks that half is too few, and the median distance from the median stands for it.
    """
    if len(among) < _FEWEST_FOR_HALF:
        return 1.4826 * float(np.median(np.abs(among - np.median(among))))
    ordered, half = np.sort(among), len(among) // 2
    return 0.7413 * float((ordered[half - 1 :] - ordered[: len(among) - half + 1]).min())


def _step_ns(matched: Matched, steps: Ints, column: Ints) -> float:
    """Return the length of a step, from the end of one's last collective to the next's."""
    ranks, count = len(matched.ranks), len(steps)
    last = np.full(ranks * count, np.iinfo(np.int64).min)
    np.maximum.at(last, matched.place * count + column, matched.end_ns)
    known = steps >= 0
    last = last.reshape(ranks, count)[:, known]
    both = (last[:, 1:] > np.iinfo(np.int64).min) & (last[:, :-1] > np.iinfo(np.int64).min)
    both &= np.diff(steps[known]) == 1  # over steps that are not recorded it is no length of one
    lengths = (last[:, 1:] - last[:, :-1])[both]
    return float(np.median(lengths)) if len(lengths) else 0.0


def _last_share(matched: Matched, waits: MemberWaits) -> Floats:
    ranks = len(matched.ranks)
    last = np.bincount(waits.last[waits.is_known], minlength=ranks)
    of_all = np.bincount(matched.place[waits.is_known[matched.collective]], minlength=ranks)
    share: Floats = last / np.maximum(of_all, 1)
    return share
