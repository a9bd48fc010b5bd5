"""Events of Python functions, made of the line log: recording Kineto's own takes far longer.

Of the user's functions those are kept in which an operator or a range began, and those that take
a while. The time of others is that of their callers. Of built-in functions there is `gc.collect()`.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cells import cell_name
from ..trace.kinds import EventKind
from ..trace.location import is_user_file
from ..trace.raw_columns import Column, RawColumns, Strings, Track
from .child.library import MODULE, MODULE_CALL, USER
from .frames import SHORTEST_NS, Call, ThreadLines

Table = dict[str, Column]
_COLLECT, _COLLECT_NAME = -1, "<built-in function collect>"


@dataclass
class PythonCall:
    """One event; `number` and that of its caller count from 1, 0 is none."""

    track: Track
    name: str
    is_users: bool
    start_ns: int
    end_ns: int
    number: int
    caller: int


class PythonCalls:
    """Names functions and modules; goes on from piece to piece.

    Attributes:
        modules: the identity of each module by what it is named, `Linear_0`.
    """

    def __init__(self) -> None:
        self.modules: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._names: dict[int, str] = {}
        self._numbers = count(1)

    def read(
        self,
        lines: Mapping[int, ThreadLines],
        codes: Sequence[Any],
        pid: int,
        began_ns: Mapping[int, NDArray[np.int64]],
        collections: Sequence[tuple[int, int, int]] = (),
    ) -> list[PythonCall]:
        """Return the events of all threads.

        By thread `began_ns` says when its ops began, ascending, and ended, shape (2, k).
        """
        calls = {
            thread: _kept(each.calls, codes, began_ns[thread][0]) for thread, each in lines.items()
        }
        for thread, start_ns, end_ns in collections:
            calls.setdefault(thread, []).append(Call(_COLLECT, start_ns, end_ns))
        return [
            event
            for thread, each in calls.items()
            for event in self._events(each, codes, Track(pid, thread))
        ]

    def _events(
        self, calls: Iterable[Call], codes: Sequence[Any], track: Track
    ) -> Iterable[PythonCall]:
        around: list[PythonCall] = []
        for call in sorted(calls, key=lambda each: (each.start_ns, -each.end_ns)):
            while around and around[-1].end_ns <= call.start_ns:
                around.pop()
            caller = around[-1].number if around else 0
            is_users = call.code != _COLLECT and codes[call.code][3] == USER
            name, number = self._name(call.code, codes), next(self._numbers)
            event = PythonCall(track, name, is_users, call.start_ns, call.end_ns, number, caller)
            around.append(event)
            yield event

    def line(self, track: Track, name: str, start_ns: int, end_ns: int) -> PythonCall:
        """Return the event of a line of the user's, which has its name from its frame."""
        return PythonCall(track, name, True, start_ns, end_ns, next(self._numbers), 0)

    def _name(self, code: int, codes: Sequence[Any]) -> str:
        if code == _COLLECT:
            return _COLLECT_NAME
        if code not in self._names:
            file, function, line, kind = codes[code]
            if kind == MODULE:
                module = f"{function}_{self._counts[function]}"
                name, self.modules[module] = f"nn.Module: {module}", line
                self._counts[function] += 1
            else:
                name = f"{shown_path(file) if kind == USER else file}({line}): {function}"
            self._names[code] = name
        return self._names[code]


def _kept(calls: list[Call], codes: Sequence[Any], starts_ns: NDArray[np.int64]) -> list[Call]:
    if not calls:
        return []
    code, start, end = np.array(calls, np.int64).T
    kinds = np.array([each[3] for each in codes])[code]
    begun = np.searchsorted(starts_ns, end) - np.searchsorted(starts_ns, start)
    is_kept = (kinds != USER) | (begun > 0) | (end - start >= SHORTEST_NS)
    is_kept &= (kinds != MODULE_CALL) & (end > start)
    return [calls[at] for at in np.flatnonzero(is_kept).tolist()]


def rows_of(calls: Sequence[PythonCall], strings: Strings) -> Table:
    """Return the columns of these events."""
    raw = RawColumns(strings)
    raw.append(
        len(calls),
        name_id=[strings.names[each.name] for each in calls],
        kind=EventKind.PyCall,
        start_ns=[each.start_ns for each in calls],
        duration_ns=[each.end_ns - each.start_ns for each in calls],
        track_id=[strings.tracks[each.track] for each in calls],
    )
    return raw.concatenate()


def shown_path(file: str) -> str:
    """Return a file of the user as the report names it: relative where it is below the working
    directory.

    `./` stands before what could be taken for a library.
    """
    cell = cell_name(file)
    if cell is not None:
        return cell
    folder = os.getcwd() + os.sep  # noqa: PTH109
    if not file.startswith(folder):
        return file.replace("\\", "/")
    relative = file[len(folder) :].replace("\\", "/")
    is_safe = is_user_file(relative) and relative.partition("/")[0] not in sys.stdlib_module_names
    return relative if is_safe else f"./{relative}"
