"""Which ranks of a job the page has whole: a page of a thousand ranks is to stay small.

Of the others it has the lengths of their steps, for the map of all ranks.
"""

from __future__ import annotations

from ..report.sections import Section

_MOST_WHOLE = 8
_MOST_STEPS, _MOST_CELLS = 2_000, 100_000  # of a rank, and of all ranks together


def most_steps_of(rank_count: int) -> int:
    """Return how many steps of each rank are drawn."""
    return max(min(_MOST_STEPS, _MOST_CELLS // max(rank_count, 1)), 1)


def whole_ranks(section: Section) -> list[int]:
    """Choose ranks by their place in the section, ascending; all if they are few.

    These are the first one, that with the longest steps, that in the middle and that with the
    shortest, and those that the figures of findings are of, costliest first.
    """
    lengths = [run.median_ns or run.window_ns for run in section.runs]
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    chosen = [0, by_length[-1], by_length[(len(by_length) - 1) // 2], by_length[0]]
    for place in section.places:
        costs = {number: finding.cost_ns for number, finding in place.alike}
        chosen.append(max(costs, key=costs.__getitem__))
    return sorted(list(dict.fromkeys([*chosen, *range(len(lengths))]))[:_MOST_WHOLE])
