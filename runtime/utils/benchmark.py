"""torch.utils.benchmark: a Timer of statements."""

from __future__ import annotations

import timeit
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Measurement", "Timer"]


@dataclass
class Measurement:
    """Times of one statement, in seconds a run."""

    number_per_run: int
    raw_times: list[float]
    stmt: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> list[float]:
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        return sum(self.times) / len(self.times)

    @property
    def median(self) -> float:
        return sorted(self.times)[len(self.times) // 2]

    def __repr__(self) -> str:
        return f"<Measurement {self.stmt}: {self.median * 1e6:.2f} us>"


class Timer:
    """Times `stmt`, as Python's own does."""

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Any = None,
        globals: Any = None, **_: Any,
    ) -> None:  # fmt: skip
        self.stmt = stmt
        self._timer = timeit.Timer(stmt, setup, timer or timeit.default_timer, globals)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        self._timer.timeit(max(number // 100, 1))
        return Measurement(number, [self._timer.timeit(number)], self.stmt)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        number, _ = self._timer.autorange()
        count = max(int(min_run_time / max(_, 1e-9)), 1)
        return Measurement(number, self._timer.repeat(count, number), self.stmt)

    def adaptive_autorange(self, threshold: float = 0.1, **how: Any) -> Measurement:
        return self.blocked_autorange()
