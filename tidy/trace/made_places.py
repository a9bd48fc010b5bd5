"""Where loaders and optimizers are made, and what is updated, where a recording tells it.

`tidy run` writes into the header for each line that uses one where that was made, and the line that
turns anomaly mode on; and the shapes of parameters that there are optimizers for, with how many
have each:

    "tidy_made_places": {"loader train.py:70": ["data.py", 41, "loaders"], "anomaly mode": ...}
    "tidy_parameters": [[[768, 768], 48], [[768], 100]]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from .event_table import EventTable
from .location import Location

_PLACES, _PARAMETERS = "tidy_made_places", "tidy_parameters"


def header_of(facts: Mapping[str, Any], shown_path: Callable[[str], str]) -> dict[str, Any]:
    """The header of what a recording noted, as the piece has it that it wrote last.

    Args:
        facts: `made`, kind, file and line of each use, and file, line and function of where that
            was made, None where it was made at several places; and `parameters` as they are.
        shown_path: gives a file as locations have it.
    """
    places = {}
    for kind, file, line, made in facts.get("made") or ():
        place = made and [shown_path(made[0]), *made[1:]]
        places[f"{kind} {shown_path(file)}:{line}" if file else kind] = place
    header = {_PLACES: places, _PARAMETERS: facts.get("parameters")}
    return {key: value for key, value in header.items() if value}


def made_place(trace: EventTable, kind: str, used: Location | None) -> Location | None:
    """The place of the loader or the optimizer that is used here, or of a mode that holds
    everywhere; None where it is not known.
    """
    noted = trace.info.header.get(_PLACES)
    found = noted.get(f"{kind} {used}" if used else kind) if isinstance(noted, Mapping) else None
    if not isinstance(found, list) or [type(each) for each in found] != [str, int, str]:
        return None
    file, line, function = found
    return Location(file, line, function, is_call_line=True)


def parameters_of(trace: EventTable) -> Counter[tuple[int, ...]] | None:
    """How many parameters of each shape there are optimizers for; None where it is not known."""
    noted = trace.info.header.get(_PARAMETERS)
    counts = Counter[tuple[int, ...]]()
    for entry in noted if isinstance(noted, list) else ():
        dims, count = entry if isinstance(entry, list) and len(entry) == 2 else (None, 0)
        if not isinstance(dims, list) or {type(each) for each in (*dims, count)} != {int}:
            return None
        counts[tuple(dims)] += max(count, 1)
    return counts or None
