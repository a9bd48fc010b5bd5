"""The change that a fix makes to a recorded run, as a change of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..trace import Intervals, Rows


@dataclass(frozen=True, eq=False)
class Edit:
    """A change of the graph: calls and kernels get shorter, and waits go.

    Attributes:
        model: in words what the change is, for the report.
        host: time of host threads (by track) that the fix saves before the calls that follow it.
        work: rows of device activity (kernels, copies) that gets shorter.
        work_saved_ns: how much shorter each of `work` gets where nothing of the change stays; None
            for as much as it takes.
        waits: rows of calls that no longer wait for the device.
        left: the part of `host` and `work` that stays, at best and at worst, 0 to 1.
        work_left: the same of `work` alone, where that is another part.
        of_others: whether it is made on other ranks, which then do not stay as they are.
        moves: whether other processes do from then on what `host` holds.
        at_worst: the change by the way of fixing it that saves least, where there are several.
        saves_at_most_ns: of a step, at the least and at the most, by what more than this trace
            tells; None where it tells all.
        untold: what the trace does not tell, on which the range depends, with its two ends.
    """

    model: str
    host: Mapping[int, Intervals] = field(default_factory=dict)
    work: Sequence[int] | Rows = ()
    work_saved_ns: Rows | None = None
    waits: Sequence[int] | Rows = ()
    left: tuple[float, float] = (0.0, 0.0)
    work_left: tuple[float, float] | None = None
    moves: bool = False
    of_others: bool = False
    at_worst: Edit | None = None
    saves_at_most_ns: tuple[int, int] | None = None
    untold: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edit) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self.model)

    def _values(self) -> tuple[object, ...]:
        rows = [*self.work], [*self.waits]
        saved = None if self.work_saved_ns is None else self.work_saved_ns.tolist()
        how = self.moves, self.of_others, self.at_worst, self.saves_at_most_ns, self.untold
        return self.model, dict(self.host), *rows, self.left, self.work_left, saved, *how
