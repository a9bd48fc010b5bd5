"""What a device keeps of each stream, and the units of the device that streams have to share.

    stream 7    |kernel   |kernel |...          ready_ns: when all work that it was given is done
    stream 13        |copy   |
    upload           |copy   |                  one copy to the device at a time

The work of one stream is done in the order in which it was launched.
"""

from __future__ import annotations

from bisect import bisect_right

DEFAULT_STREAM = 7  # as Kineto numbers it
_KEPT_SPANS = 64


class StreamTimeline:
    """One stream of a device, as the device sees it; `Stream` is what users have of it."""

    device_index: int
    number: int
    ready_ns: int  # modelled time at which all its work is done


class HardwareEngine:
    """A unit of the device that does one thing at a time; work takes the first gap it fits in."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def place(self, ready_ns: int, duration_ns: int) -> int:
        """Return the time at which work begins that is ready at `ready_ns`."""
        starts, ends = self._starts, self._ends
        if not ends or ready_ns >= ends[-1]:
            begin, place = ready_ns, len(ends)
        else:
            place = bisect_right(ends, ready_ns)
            begin = ready_ns
            while place < len(starts) and starts[place] < begin + duration_ns:
                begin = max(begin, ends[place])
                place += 1
        starts.insert(place, begin)
        ends.insert(place, begin + duration_ns)
        if len(ends) > _KEPT_SPANS:
            del starts[0], ends[0]
        return begin
