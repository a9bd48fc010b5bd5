"""Files that hold the same steps: a copy of a trace, or one recording that was exported twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..trace import Step, Trace

# Times before the year 2000 count from the start of something; equal ones say nothing.
_FIRST_DATE_NS = 946_684_800 * 10**9
# A rank, and the start and end of a step of it.
Stretch = tuple[int | None, int, int]


@dataclass(frozen=True, slots=True)
class Repeated:
    """What of a trace earlier ones hold.

    Attributes:
        ranges: start and end in ns of the steps that do; empty if all are.
        reason: why they are left out.
    """

    ranges: frozenset[tuple[int, int]]
    reason: str

    @property
    def is_all(self) -> bool:
        """Whether nothing of the trace is new."""
        return not self.ranges


class SeenSteps:
    """The steps of traces that were seen so far, each with the path of its trace.

    Args:
        notes: gets a line for each trace that holds earlier steps.
    """

    def __init__(self, notes: list[str]) -> None:
        self._notes, self._seen = notes, dict[Stretch, str]()

    def add(self, path: str, stretches: Sequence[Stretch], *, has_steps: bool) -> Repeated | None:
        """Add those of one more trace; gives what of it earlier ones hold, None for nothing."""
        known = [each for each in stretches if each in self._seen]
        first = self._seen[known[0]] if known else ""
        self._seen |= {each: path for each in stretches if each not in self._seen}
        if not known:
            return None
        if len(known) == len(stretches):
            what = "the same steps as" if has_steps else "the same recording as"
            self._notes.append(f"{path}: {what} {first}; left out")
            return Repeated(frozenset(), "")
        count = f"{len(known):,} of its {len(stretches):,} steps are"
        self._notes.append(f"{path}: {count} in {first} too; counted once")
        ranges = frozenset((start_ns, end_ns) for _, start_ns, end_ns in known)
        return Repeated(ranges, f"in {first} too")


def apart(traces: Iterable[Trace], notes: list[str]) -> Iterator[Trace]:
    """Yield the traces so that a report counts no step twice, and note what holds earlier steps.

    A trace whose steps are all in earlier ones is left out; where some are, its window is without.
    """
    seen = SeenSteps(notes)
    for trace in traces:
        stretches, has_steps = stretches_in(trace), bool(trace.steps)
        repeated = seen.add(trace.info.path, stretches, has_steps=has_steps)
        if repeated is None:
            yield trace
        elif not repeated.is_all:
            yield trace.without_steps(repeated.ranges, repeated.reason)


def stretches_in(trace: Trace) -> list[Stretch]:
    """Return the steps of a trace, or without steps its whole time."""
    start_ns = trace.start_ns_first if len(trace) else None
    return stretches_of(trace.info.rank, start_ns, trace.span_ns, trace.steps)


def stretches_of(
    rank: int | None, start_ns: int | None, span_ns: int, steps: Iterable[Step]
) -> list[Stretch]:
    """Return the steps of a trace, or without steps its whole time; none if times are no dates.

    Args:
        start_ns: the start of its first event; None if there is none.
        span_ns: the time from there to the end of the last one.
    """
    if start_ns is None or start_ns < _FIRST_DATE_NS:
        return []
    ranges = [(step.start_ns, step.end_ns) for step in steps] or [(start_ns, start_ns + span_ns)]
    return [(rank, *each) for each in ranges]
