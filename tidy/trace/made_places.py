"""Where loaders and optimizers are made, where a recording tells it.

`tidy run` writes into the header for each line that uses one where that was made:

    "tidy_made_places": {"loader train.py:70": ["data.py", 41, "loaders"]}

and the line that turns anomaly mode on, as "anomaly mode".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .event_table import EventTable
from .location import Location

HEADER = "tidy_made_places"


def header_of(noted: Iterable[list[Any]], shown_path: Callable[[str], str]) -> dict[str, Any]:
    """The header of what a recording noted.

    Args:
        noted: kind, file and line of a use; and file, line and function of where it was made, None
            where it was made at several places.
        shown_path: gives a file as locations have it.
    """
    places = {}
    for kind, file, line, made in noted:
        place = made and [shown_path(made[0]), *made[1:]]
        places[f"{kind} {shown_path(file)}:{line}" if file else kind] = place
    return {HEADER: places} if places else {}


def made_place(trace: EventTable, kind: str, used: Location | None) -> Location | None:
    """The place of the loader or the optimizer that is used here, or of a mode that holds
    everywhere; None where it is not known.
    """
    noted = trace.info.header.get(HEADER)
    found = noted.get(f"{kind} {used}" if used else kind) if isinstance(noted, Mapping) else None
    if not isinstance(found, list) or [type(each) for each in found] != [str, int, str]:
        return None
    file, line, function = found
    return Location(file, line, function, is_call_line=True)
