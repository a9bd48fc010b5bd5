"""From columns of activity tables to `RawColumns`: calls and device work.

The tools that write these tables number calls per process, so the number of a call and of the work
it launched is made unique by the process, where a table tells it: `process` is that of the numbers.
Columns have the shape (n,).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...trace.kinds import EventKind
from ...trace.raw_columns import Interner, RawColumns, Track
from .database import LATEST_NS, Columns

Integers = NDArray[np.int64]
NameOf = Callable[[int], str]

_PROCESS_BITS = 40  # CUPTI's correlations have 32 bits
_ODD_TIME = "events without a usable time"
_BACKWARDS = "durations that are negative (taken as 0)"


def named(texts: Mapping[int, str], otherwise: str) -> NameOf:
    """Return a function that gives the text of a number, or `otherwise` for a number
    without one.
    """
    return lambda number: texts.get(number, otherwise)


class Activities:
    """Rows of one profile on their way into columns.

    Attributes:
        lost: counts what had to be left out.
        processes: those with events, numbered as they are met.
    """

    def __init__(self) -> None:
        self.raw = RawColumns()
        self.lost = Counter[str]()
        self.latest_ns = -LATEST_NS
        self.row_count = 0
        self.processes = Interner()

    def timed(self, columns: Columns) -> tuple[NDArray[np.bool_], Integers, Integers]:
        """Tell which rows have a usable time, and the starts and durations of these rows."""
        start, end = columns["start"], columns["end"]
        good = (np.abs(start) < LATEST_NS) & (np.abs(end) < LATEST_NS)
        start, end = start[good], end[good]
        self.lost[_ODD_TIME] += len(good) - len(start)
        self.lost[_BACKWARDS] += int(np.count_nonzero(end < start))
        self.row_count += len(start)
        if len(start):
            self.latest_ns = max(self.latest_ns, int(start.max()), int(end.max()))
        return good, start, np.maximum(end - start, 0)

    def add_calls(
        self,
        columns: Columns,
        numbers: Integers,
        name_of: NameOf,
        kind: EventKind = EventKind.Runtime,
    ) -> None:
        """Add calls on the host; columns start, end, pid, tid, process, correlationId."""
        good, start, duration = self.timed(columns)
        self.raw.append(
            len(start),
            kind=kind,
            name_id=self._names(numbers, name_of)[good],
            start_ns=start,
            duration_ns=duration,
            track_id=self.tracks(columns["pid"], columns["tid"])[good],
            correlation=self._unique(columns["correlationId"][good], columns["process"][good]),
        )

    def add_device_work(
        self, kind: EventKind, columns: Columns, numbers: Integers, name_of: NameOf
    ) -> None:
        """Add device rows; columns start, end, deviceId, streamId, correlationId, else 0."""
        good, start, duration = self.timed(columns)
        nothing = np.zeros_like(columns["start"])
        process = process_of(columns.get("globalPid", nothing))
        device, stream = columns["deviceId"][good], columns["streamId"][good]
        self.raw.append(
            len(start),
            kind=kind,
            name_id=self._names(numbers, name_of)[good],
            start_ns=start,
            duration_ns=duration,
            track_id=self.tracks(device, stream),
            correlation=self._unique(columns["correlationId"][good], process[good]),
            device=np.clip(device, -1, (1 << 31) - 1),
            stream=stream,
            nbytes=columns.get("bytes", nothing)[good],
        )

    def _names(self, numbers: Integers, name_of: NameOf) -> NDArray[np.int32]:
        """The name id of each number; `name_of` is asked once for each distinct one."""
        known, inverse = np.unique(numbers, return_inverse=True)
        names = self.raw.strings.names
        ids = np.array([names[name_of(int(number))] for number in known], np.int32)
        return ids[inverse]

    def tracks(self, first: Integers, second: Integers) -> NDArray[np.int32]:
        """Return the track id of each (process, thread) or (device, stream)."""
        firsts, first_of = np.unique(first, return_inverse=True)
        seconds, second_of = np.unique(second, return_inverse=True)
        pairs, inverse = np.unique(first_of * len(seconds) + second_of, return_inverse=True)
        tracks = self.raw.strings.tracks
        found = [divmod(pair, len(seconds)) for pair in pairs.tolist()]
        ids = [tracks[Track(int(firsts[a]), int(seconds[b]))] for a, b in found]
        return np.array(ids, np.int32)[inverse]

    def _unique(self, correlation: Integers, pids: Integers) -> Integers:
        """Correlations that no two processes share: these are numbered as they are met."""
        known, inverse = np.unique(pids, return_inverse=True)
        process = np.array([self.processes[int(pid)] for pid in known], np.int64)[inverse]
        return np.where(correlation > 0, correlation + (process << _PROCESS_BITS), 0)

    def warnings(self) -> Iterable[str]:
        """Sentences that count what was lost."""
        return [f"left out {what}: {count:,}" for what, count in sorted((+self.lost).items())]


def process_of(global_id: Integers) -> Integers:
    """Return the process in a `globalTid` or `globalPid`."""
    return (global_id >> 24) & 0xFFFFFF
