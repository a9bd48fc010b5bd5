"""Where the script makes its loaders and optimizers, beside where it uses them, and sets modes.

What is wrong with one is mended where it is made, and found where it is used.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .guard import Harmless, harmless
from .kept import weakref
from .lines import full_path, user_files

_MOST = 200  # pairs of places


class MadePlaces(Harmless):
    """Notes for each object where it was made, and where it is used first."""

    def __init__(self, ours: str) -> None:
        self._user = user_files(ours)
        # By identity: a weak reference, and the place.
        self._objects: dict[int, tuple[Any, list[Any] | None]] = {}
        self._used: dict[tuple[str, str, int], list[Any] | None] = {}

    @harmless
    def made(self, thing: Any) -> None:
        """It is being made."""
        key = id(thing)
        gone = weakref.ref(thing, lambda _: self._objects.pop(key, None) and None)
        self._objects[key] = gone, self._place()

    @harmless
    def iterated(self, loader: Any) -> None:
        """An epoch of the loader begins."""
        self._use("loader", loader)

    @harmless
    def steps(self, optimizer: Any) -> None:
        """The optimizer makes a step."""
        self._use("optimizer", optimizer)

    @harmless
    def anomaly_mode(self, _: Any) -> None:
        """Anomaly mode is turned on or off."""
        place = self._place()
        if place is not None:
            self._note(("anomaly mode", "", 0), place)

    def fail(self, error: BaseException) -> None:
        """Know nothing of any place."""
        self._objects.clear()
        self._used.clear()

    def noted(self) -> list[list[Any]]:
        """The kind, the file and the line of each use, and where that was made: its file, line and
        function, or None for one of several places. Of what holds everywhere the file is "".
        """
        return [[*use, made] for use, made in self._used.items()]

    def _use(self, kind: str, thing: Any) -> None:
        _, made = self._objects.pop(id(thing), (None, None))
        place = self._place() if made is not None else None
        if made is not None and place is not None and len(self._used) < _MOST:
            self._note((kind, place[0], place[1]), made)

    def _note(self, use: tuple[str, str, int], place: list[Any]) -> None:
        if self._used.setdefault(use, place) != place:  # it may be either
            self._used[use] = None

    def _place(self) -> list[Any] | None:
        """Return the file, the line and the function of the user's that is running."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not self._user[frame.f_code.co_filename]:
            frame = frame.f_back
        if frame is None:
            return None
        code = frame.f_code
        return [full_path(code.co_filename), frame.f_lineno or 0, code.co_name]
