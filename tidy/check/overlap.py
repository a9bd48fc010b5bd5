"""Files that hold the same steps: a copy of a trace, or one recording that was exported twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..trace import Trace

# Times before the year 2000 count from the start of something; equal ones say nothing.
_FIRST_DATE_NS = 946_684_800 * 10**9
# A rank, and the start and end of a step of it.
_Stretch = tuple[int | None, int, int]


class Overlaps:
    """Sees to it that a report counts no step twice.

    Attributes:
        notes: a sentence for each file that holds steps of an earlier one.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._seen: dict[_Stretch, str] = {}

    def apart(self, traces: Iterable[Trace]) -> Iterator[Trace]:
        """The traces, without those whose steps are all in earlier ones.

        Where some of the steps are, the window of the trace leaves them out.
        """
        for trace in traces:
            mine = _stretches(trace)
            known = [each for each in mine if each in self._seen]
            path = trace.info.path
            self._seen |= {each: path for each in mine if each not in self._seen}
            if not known:
                yield trace
                continue
            first = self._seen[known[0]]
            if len(known) == len(mine):
                what = "the same steps as" if trace.steps else "the same recording as"
                self.notes.append(f"{path}: {what} {first}; left out")
                continue
            count = f"{len(known):,} of its {len(mine):,} steps are"
            self.notes.append(f"{path}: {count} in {first} too; counted once")
            twice = {(start_ns, end_ns) for _, start_ns, end_ns in known}
            yield trace.without_steps(twice, f"in {first} too")


def _stretches(trace: Trace) -> list[_Stretch]:
    """The steps of a trace, or without steps its whole time; none where times are no dates."""
    if not len(trace) or trace.start_ns_first < _FIRST_DATE_NS:
        return []
    start_ns = trace.start_ns_first
    whole = [(start_ns, start_ns + trace.span_ns)]
    ranges = [(step.start_ns, step.end_ns) for step in trace.steps] or whole
    return [(trace.info.rank, *each) for each in ranges]
