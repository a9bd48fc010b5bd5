"""One side of a comparison: what is known of a run, or of several runs of the same script."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..account import PartName
from .findings import FoundPlace
from .interval import Series, independent_count
from .op_table import OpTable
from .setting import Setting


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        path: as the user named it.
        setting: what it has to have in common with the other side.
        runs: lengths of the steps that count, a series for each run of the script; of a job with
            several ranks those of the slowest one in each step.
        timed: for each run how many of its steps were measured, where others repeat them.
        step_ns: the median step, also where the steps are not known one by one.
        account: nanoseconds of an average step on an average device, by part.
        ops: rows of the steps; None where a report is compared, which has none.
        found: the findings.
        checked: codes of the rules that ran.
        memory: the greatest number of bytes held at once, by what holds them.
        busy_share: the part of the time in which devices worked; None without devices.
    """

    path: str
    setting: Setting
    runs: Sequence[Series]
    timed: Sequence[int | None]
    step_ns: float | None
    account: Mapping[PartName, float]
    ops: OpTable | None
    found: Sequence[FoundPlace]
    checked: frozenset[str]
    memory: Mapping[str, int] = field(default_factory=dict)
    busy_share: float | None = None

    @property
    def steps_ns(self) -> Series:
        """The steps of all runs, one run after the other."""
        return np.concatenate([np.asarray(each, float) for each in self.runs] or [np.empty(0)])

    def scaled(self, by: float) -> Side:
        """Return the same run, each of its times multiplied."""
        if by == 1:
            return self
        ops = self.ops and {k: replace(r, step_ns=r.step_ns * by) for k, r in self.ops.items()}
        return replace(
            self,
            runs=[each * by for each in self.runs],
            step_ns=self.step_ns and self.step_ns * by,
            account={part: time_ns * by for part, time_ns in self.account.items()},
            ops=ops,
        )

    @property
    def independent_count(self) -> float:
        """As how many independent steps those of the side count."""
        return self.independent_count_of(self.steps_ns)

    def independent_count_of(self, times: Series) -> float:
        """Return the same of some time in each step."""
        if self.setting.is_quickest:
            return float(len(times))  # they do not differ by chance
        ends = np.cumsum([len(run) for run in self.runs])[:-1]
        parts = zip(np.split(times, ends), self.timed, strict=True)
        return sum(independent_count(part, timed) for part, timed in parts if len(part))


def average_account(
    accounts: Sequence[tuple[int, Iterable[tuple[PartName, int]]]],
) -> dict[PartName, float]:
    """Nanoseconds of an average step on an average device.

    Args:
        accounts: of each device of each rank the number of steps, and the nanoseconds of all of
            them by part.
    """
    sums = defaultdict[PartName, float](float)
    for steps, parts in accounts:
        for name, time_ns in parts:
            sums[name] += time_ns / max(steps, 1) / len(accounts)
    return dict(sums)


def slowest_rank(lengths: Sequence[Series]) -> Series:
    """Return for each step the length on the rank where it is longest, given those of each rank.

    Where ranks have not the same number of steps, it is the steps of the rank that takes longest.
    """
    if len({len(each) for each in lengths}) == 1:
        longest: Series = np.max(lengths, axis=0)
        return longest
    return max(lengths, key=lambda each: float(np.median(each)) if len(each) else 0.0)
