"""From the real times of a recorder to Unix times of the clock that goes beside a modelled device.

Without a device both clocks are the same, and times are only moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Turn = tuple[int, int]  # (real, modelled), both on the scale of time.perf_counter_ns
_FAR_NS = 2**51  # 26 days; sums of two such numbers are exact as binary floats


class Timeline:
    """Maps times between turns evenly, and those before the first or after the last one to one.

    Args:
        turns: in order, at least one.
        unix_ns: Unix time less the time of `time.perf_counter_ns`.
    """

    def __init__(self, turns: Sequence[Turn], unix_ns: int) -> None:
        self.unix_ns = unix_ns
        self._first = turns[0]
        self._changes = np.array(turns, np.int64) - self._first if len(turns) > 1 else None

    def of(self, times_ns: list[int]) -> list[int]:
        """Unix times of a recorder's; equal or later ones are mapped to equal or later ones."""
        real, modelled = self._first
        shift = modelled + self.unix_ns
        if self._changes is None:
            shift -= real
            return [time_ns + shift for time_ns in times_ns]
        far = np.array([[_FAR_NS, _FAR_NS]])
        known = np.concatenate([self._changes[:1] - far, self._changes, self._changes[-1:] + far])
        found = np.interp(np.array(times_ns, np.int64) - real, known[:, 0], known[:, 1])
        unix: list[int] = (np.rint(found).astype(np.int64) + shift).tolist()
        return unix
