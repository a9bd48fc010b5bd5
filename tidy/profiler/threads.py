"""The system's numbers of threads, from Python's, which later threads are given again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from .piece import HostEvent


class SystemThreads:
    """Tells which thread had a number of Python's at a time.

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
