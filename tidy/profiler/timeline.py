"""From the times and the threads of a recorder to Unix times and the system's numbers.

Times are those of the clock that goes beside a modelled device. Without a device both clocks are
the same, and times are only moved.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .piece import HostEvent

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


class SystemThreads:
    """Tells which thread had a number of Python's at a time; later threads are given it again.

    Args:
        known: by Python's number, all threads that were seen with it, the latest last.
        events: by start; a thread had the number from its first event on.
    """

    def __init__(self, known: Mapping[int, Sequence[int]], events: Iterable[HostEvent]) -> None:
        self._latest = {ident: tids[-1] for ident, tids in known.items()}
        self._turns: dict[int, tuple[list[int], list[int]]] = {}
        shared = {ident: tids for ident, tids in known.items() if len(tids) > 1}
        if not shared:
            return
        first: dict[int, int] = {}
        for event in events:
            first.setdefault(event.tid, event.start_ns)
        for ident, tids in shared.items():
            turns = sorted((first[tid], tid) for tid in tids if tid in first)
            self._turns[ident] = [time_ns for time_ns, _ in turns], [tid for _, tid in turns]

    def at(self, ident: int, time_ns: int) -> int:
        """The system's number, or Python's where the system's is not known."""
        starts, tids = self._turns.get(ident, ((), ()))
        if not tids:
            return self._latest.get(ident, ident)
        return tids[max(bisect_right(starts, time_ns) - 1, 0)]
