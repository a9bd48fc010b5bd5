"""Where loaders, optimizers and modules are made, and what is updated, where a recording tells it.

`tidy run` writes into the header for each line that uses a loader or an optimizer where that was
made; for each module, as its calls are named, where that was made, and where it became float64; the
line that turns anomaly mode on, and the one that makes float64 the default; and the shapes of
parameters that there are optimizers for, with how many have each:

    "tidy_made_places": {
        "loader train.py:70": ["data.py", 41, "loaders"], "anomaly mode": ...,
        "module Conv2d_0": ["model.py", 16, "block"], "float64 Conv2d_0": ..., "float64": ...
    }
    "tidy_parameters": [[[768, 768], 48], [[768], 100]]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .event_table import EventTable
from .location import Location
from .repeated_calls import header_of as repeated_header

_PLACES, _PARAMETERS = "tidy_made_places", "tidy_parameters"


def header_of(
    facts: Mapping[str, Any], shown_path: Callable[[str], str], modules: Mapping[str, int]
) -> dict[str, Any]:
    """Return the header of what a recording noted, as the piece has it that it wrote last.

    Args:
        facts: `made`, kind, file and line of each use, and file, line and function of where that
            was made, None where it was made at several places; `modules`, where they were made and
            where they became float64, their class and their identities; `double_default`, where
            float64 was made the default; and `parameters` as they are.
        shown_path: gives a file as locations have it.
        modules: the identity of each module by what its calls are named, `Linear_0`.
    """

    def shown(place: Any) -> list[Any] | None:
        return place and [shown_path(place[0]), *place[1:]]

    places = {}
    for kind, file, line, made in facts.get("made") or ():
        places[f"{kind} {shown_path(file)}:{line}" if file else kind] = shown(made)
    for kind, known in _of_modules(facts.get("modules") or ()).items():
        for name, identity in modules.items():
            place = shown(known.get((name.rpartition("_")[0], identity)))
            if place is not None:
                places[f"{kind} {name}"] = place
    if default := facts.get("double_default"):
        places["float64"] = shown(default)
    header = {_PLACES: places, _PARAMETERS: facts.get("parameters")}
    found = {key: value for key, value in header.items() if value}
    return found | repeated_header(facts, shown_path)


def _of_modules(groups: Iterable[Any]) -> dict[str, dict[tuple[str, int], Any]]:
    """Places by kind, and by the class and the identity of a module.

    None where two modules, one after the other, had the same identity, and other places.
    """
    found: dict[str, dict[tuple[str, int], Any]] = {"module": {}, "float64": {}}
    for made, double, name, identities in groups:
        for identity in identities:
            for known, place in zip(found.values(), (made, double), strict=True):
                if known.setdefault((name, identity), place) != place:
                    known[name, identity] = None
    return found


def has_places(trace: EventTable) -> bool:
    """Tell whether the recording says where anything is made."""
    return isinstance(trace.info.header.get(_PLACES), Mapping)


def made_place(trace: EventTable, kind: str, used: Location | str | None) -> Location | None:
    """Return the place of the loader or the optimizer that is used here, of the module of this
    name, or of a mode that holds everywhere; None if it is not known.
    """
    noted = trace.info.header.get(_PLACES)
    found = noted.get(f"{kind} {used}" if used else kind) if isinstance(noted, Mapping) else None
    if not isinstance(found, list) or [type(each) for each in found] != [str, int, str]:
        return None
    file, line, function = found
    return Location(file, line, function, is_call_line=True)


def parameters_of(trace: EventTable) -> Counter[tuple[int, ...]] | None:
    """Count how many parameters of each shape there are optimizers for; None if it is not known."""
    noted = trace.info.header.get(_PARAMETERS)
    counts = Counter[tuple[int, ...]]()
    for entry in noted if isinstance(noted, list) else ():
        dims, count = entry if isinstance(entry, list) and len(entry) == 2 else (None, 0)
        if not isinstance(dims, list) or {type(each) for each in (*dims, count)} != {int}:
            return None
        counts[tuple(dims)] += max(count, 1)
    return counts or None
