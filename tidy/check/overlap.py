"""Files that hold the same steps: a copy of a trace, or one recording that was exported twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..trace import Step, Trace

# Times before the year 2000 count from the start of something; equal ones say nothing.
_FIRST_DATE_NS = 946_684_800 * 10**9
# A rank, and the start and end of a step of it.
Stretch = tuple[int | None, int, int]


def apart(traces: Iterable[Trace], notes: list[str]) -> Iterator[Trace]:
    """Yield the traces so that a report counts no step twice, and note what holds earlier steps.

    A trace whose steps are all in earlier ones is left out; where some are, its window is without.
    """
    seen: dict[Stretch, str] = {}
    for trace in traces:
        mine = _stretches(trace)
        known = [each for each in mine if each in seen]
        path = trace.info.path
        seen |= {each: path for each in mine if each not in seen}
        if not known:
            yield trace
            continue
        first = seen[known[0]]
        if len(known) == len(mine):
            what = "the same steps as" if trace.steps else "the same recording as"
            notes.append(f"{path}: {what} {first}; left out")
            continue
        count = f"{len(known):,} of its {len(mine):,} steps are"
        notes.append(f"{path}: {count} in {first} too; counted once")
        twice = {(start_ns, end_ns) for _, start_ns, end_ns in known}
        yield trace.without_steps(twice, f"in {first} too")


def _stretches(trace: Trace) -> list[Stretch]:
    start_ns = trace.start_ns_first if len(trace) else None
    return stretches_of(trace.info.rank, start_ns, trace.span_ns, trace.steps)


def stretches_of(
    rank: int | None, start_ns: int | None, span_ns: int, steps: Iterable[Step]
) -> list[Stretch]:
    """The steps of a trace, or without steps its whole time; none where times are no dates.

    Args:
        start_ns: the start of its first event; None if there is none.
        span_ns: the time from there to the end of the last one.
    """
    if start_ns is None or start_ns < _FIRST_DATE_NS:
        return []
    ranges = [(step.start_ns, step.end_ns) for step in steps] or [(start_ns, start_ns + span_ns)]
    return [(rank, *each) for each in ranges]
