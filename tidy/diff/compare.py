"""Two runs beside each other: how their steps differ, and what makes them differ."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..account import PartName
from .findings import FoundPlace, changed_findings
from .interval import CONFIDENCE, Interval, growth
from .machine import Machine, machine_of
from .op_table import KERNEL, OpKey, OpRow
from .pairing import Pair, paired
from .setting import WHATS, differences, scale, unknown
from .side import Side

# An op counts for the machine's part from this part of the step on, and its change is worth a line.
_WORTH = 0.005
_SAME_COUNT = 0.01
_BUSY = 0.5  # a device that works so much decides how long a step is
_WORTH_A_PART = 0.005
# What is in fewer of the steps comes and goes by chance.
_USUAL = 0.75


@dataclass(frozen=True)
class OpChange:
    """An op, a kernel, or the Python code of a function, that is not in both runs what it was.

    Attributes:
        what: "came", "went", "grew" or "shrank".
        how: what differs beside its time: "", "place", "shapes" or both.
        base_ns, new_ns: its time in a median step.
        base_count, new_count: how often it comes in a step, on average.
        growth: by what part it grew; of what came or went nothing is known.
        of_step: that as a part of the step of BASE: estimate, and both ends where they are known.
        is_certain: whether the interval, and what the machine explains, leave no other answer.
    """

    what: str
    how: str
    key: OpKey
    base_ns: float
    new_ns: float
    base_count: float
    new_count: float
    growth: Interval | None
    of_step: Interval
    is_certain: bool


class Comparison:
    """What two runs have in common, and where they differ.

    Attributes:
        base, new: the two runs, with times of one kind.
        scales: what the times of both were multiplied by for that.
        is_quickest: whether each part of a step is as long as in the quickest ones.
        differences: why the two cannot be compared, but for what is allowed.
        overlooked: the differences that are allowed.
        unknown: what of it one of the two does not say.
    """

    def __init__(self, base: Side, new: Side, allowed: Collection[str] = ()) -> None:
        self.scales = scale(base.setting, new.setting) or (1.0, 1.0)
        sides = base.scaled(self.scales[0]), new.scaled(self.scales[1])
        self.is_quickest = any(side.setting.is_quickest for side in sides)
        self.base, self.new = sides
        found = list(differences(base.setting, new.setting))
        passing = WHATS if "all" in allowed else allowed
        self.differences = [each for each in found if each.what not in passing]
        self.overlooked = [each for each in found if each.what in passing]
        self.unknown = unknown(base.setting, new.setting)

    # -- steps ------------------------------------------------------------------------------------

    @cached_property
    def raw(self) -> Interval | None:
        """By what part steps grew, from their lengths alone; None where no lengths are known."""
        if not len(self.base.steps_ns) or not len(self.new.steps_ns):
            return None
        counts = self.base.independent_count, self.new.independent_count
        return growth(self.base.steps_ns, self.new.steps_ns, counts)

    @cached_property
    def step(self) -> Interval | None:
        """By what part steps grew; the interval holds what the machine alone may have made of it.

        None where the lengths of steps are not known one by one.
        """
        if self.raw is None:
            return None
        width = self.machine.width(1 - CONFIDENCE)
        return self._beside(self.raw, width * self.machine.uncertainty(*self._shares))

    def _beside(self, change: Interval, spread: float) -> Interval:
        """An interval that holds what the machine may have made of it, too."""
        if self.machine.op_count:
            return change.widened(self.machine.growth, spread)
        # Of the quickest steps nothing else tells how they differ by chance.
        return Interval(change.estimate, None, None) if self.is_quickest else change

    @property
    def verdict(self) -> str:
        """One of "slower", "faster", "undecided", and "unknown" where no interval is known."""
        if self.step is None or self.step.low is None or self.step.high is None:
            return "unknown"
        return "slower" if self.step.low > 0 else "faster" if self.step.high < 0 else "undecided"

    @property
    def least_regression(self) -> float | None:
        """By what part steps grew at the least, as far as that is certain; None: it is not known.

        Either the interval of the steps says it, or what certainly came, went, grew and shrank in
        them. The latter counts as far as the steps agree: what else they hold may have shrunk.
        """
        if self.step is None or self.step.low is None:
            return None
        beside = (1 + self.step.estimate) / (1 + self.machine.growth) - 1
        of_ops = sum(each.of_step.low or 0.0 for each in self.ops if each.is_certain)
        return max(self.step.low, min(of_ops, max(self.step.estimate, beside)))

    # -- ops --------------------------------------------------------------------------------------

    @cached_property
    def ops(self) -> list[OpChange]:
        """What came, went, grew and shrank, by how much it changes a step; certain ones first."""
        whole = self.base.step_ns
        if not whole:
            return []
        alpha = (1 - CONFIDENCE) / max(len(self._grown), 1)
        changes = [self._came_or_went(pair, whole) for pair in self._pairs]
        changes += [self._changed(*each, whole, 1 - alpha) for each in self._grown]
        kept = [each for each in changes if each is not None]
        return sorted(kept, key=lambda o: (not o.is_certain, -abs(o.of_step.estimate), o.key))

    @cached_property
    def machine(self) -> Machine:
        """What all ops have in common; of the device's where that decides how long a step is."""
        on_device = min(side.busy_share or 0.0 for side in (self.base, self.new)) >= _BUSY
        return machine_of(
            change.estimate
            for pair, change in self._grown
            if abs(pair.counts[0] - pair.counts[1]) <= _SAME_COUNT * max(pair.counts)
            and not pair.how
            and (pair.key.sort == KERNEL) == on_device
        )

    @cached_property
    def _pairs(self) -> list[Pair]:
        if self.base.ops is None or self.new.ops is None:
            return []
        return list(paired(self.base.ops, self.new.ops))

    @cached_property
    def _grown(self) -> list[tuple[Pair, Interval]]:
        """The pairs that take some of a step, with their growth."""
        least_ns = _WORTH * min(self.base.step_ns or 0.0, self.new.step_ns or 0.0)
        tests = [
            (pair, pair.base.step_ns, pair.new.step_ns)
            for pair in self._pairs
            if pair.base is not None
            and pair.new is not None
            and max(pair.medians_ns) >= least_ns > 0
            and min(_presence(pair.base), _presence(pair.new)) >= _USUAL
        ]
        confidence = 1 - (1 - CONFIDENCE) / max(len(tests), 1)
        of_base, of_new = self.base.independent_count_of, self.new.independent_count_of
        return [
            (pair, growth(base, new, (of_base(base), of_new(new)), confidence))
            for pair, base, new in tests
        ]

    @cached_property
    def _shares(self) -> list[float]:
        """Of a step the part of each op that is paired; the rest is taken as one."""
        whole = self.base.step_ns or 1.0
        shares = [pair.medians_ns[0] / whole for pair, _ in self._grown]
        return [*shares, max(1 - sum(shares), 0.0)]

    def _changed(
        self, pair: Pair, change: Interval, whole: float, confidence: float
    ) -> OpChange | None:
        base_ns, new_ns = pair.medians_ns
        spread = self.machine.width(1 - confidence) * self.machine.uncertainty(1.0)
        beside = self._beside(change, spread)
        # A share of the step that is worth a line, however certain the change is.
        ends = (None if each is None else each * (base_ns / whole) for each in beside[1:])
        of_step = Interval((new_ns - base_ns) / whole, *ends)
        is_certain = (beside.low or 0.0) > 0 or (beside.high or 0.0) < 0
        if abs(of_step.estimate) < _WORTH:
            return None
        what = "grew" if of_step.estimate > 0 else "shrank"
        return OpChange(
            what, pair.how, pair.key, *pair.medians_ns, *pair.counts, beside, of_step, is_certain
        )

    def _came_or_went(self, pair: Pair, whole: float) -> OpChange | None:
        if (pair.base is None) == (pair.new is None):
            return None
        row = pair.base or pair.new
        assert row is not None
        time_ns = max(pair.medians_ns)
        if time_ns < _WORTH * whole:
            return None
        sign = 1.0 if pair.base is None else -1.0
        ends = np.quantile(row.step_ns, (0.25, 0.75))
        of_step = Interval(sign * time_ns / whole, *sorted((sign * ends / whole).tolist()))
        what = "came" if sign > 0 else "went"
        return OpChange(
            what, pair.how, pair.key, *pair.medians_ns, *pair.counts, None, of_step, is_certain=True
        )

    # -- the rest ---------------------------------------------------------------------------------

    @cached_property
    def account(self) -> list[tuple[PartName, float, float]]:
        """Nanoseconds of an average step by part, in both; what changed most first."""
        both = {*self.base.account, *self.new.account}
        rows = [(p, self.base.account.get(p, 0.0), self.new.account.get(p, 0.0)) for p in both]
        whole = sum(self.base.account.values())
        rows = [row for row in rows if max(row[1:]) >= _WORTH_A_PART * whole]
        return sorted(rows, key=lambda row: (-abs(row[2] - row[1]), str(row[0])))

    @cached_property
    def findings(self) -> tuple[list[FoundPlace], list[FoundPlace]]:
        """Those that came and those that went, of rules that ran on both sides."""
        ran = self.base.checked & self.new.checked
        sides = [[f for f in side.found if f.code in ran] for side in (self.base, self.new)]
        return changed_findings(*sides)

    @cached_property
    def memory(self) -> list[tuple[str, int, int]]:
        """The greatest number of bytes held at once in both, by what holds them."""
        both = sorted(self.base.memory.keys() & self.new.memory.keys())
        return [(each, self.base.memory[each], self.new.memory[each]) for each in both]


def _presence(row: OpRow) -> float:
    """The part of the steps that have it."""
    return float(np.mean(row.step_ns > 0))
