"""Where the script makes its loaders and optimizers, beside where it uses them, and sets modes
and the number of threads.

What is wrong with one is mended where it is made, and found where it is used.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from .guard import Harmless, harmless
from .kept import weakref
from .lines import user_files
from .made_modules import MadeModules
from .repeated_calls import RepeatedCalls
from .user_places import Place, UserPlaces

_MOST = 200  # pairs of places


class MadePlaces(Harmless):
    """Notes for each object where it was made, and where it is used first.

    Attributes:
        modules: the same of modules, which are known by their calls.
        repeated: notes which modules are called twice on the same inputs.
    """

    def __init__(self, ours: str) -> None:
        self._places = UserPlaces(ours)
        self.modules = MadeModules(self._places)
        self.repeated = RepeatedCalls(user_files(ours))
        # By identity: a weak reference, and the place.
        self._objects: dict[int, tuple[Any, Place | None]] = {}
        self._used: dict[tuple[str, str, int], Place | None] = {}
        self._optimizers: dict[int, Any] = {}  # weak references
        self._failed = False

    @harmless
    def optimizer_made(self, optimizer: Any) -> None:
        """Note that an optimizer is being made."""
        self._made(optimizer)
        self._knows(optimizer)

    @harmless
    def loader_made(self, loader: Any) -> None:
        """Note that a loader is being made."""
        self._made(loader)

    @harmless
    def iterated(self, loader: Any) -> None:
        """Note that an epoch of the loader begins."""
        self._use("loader", loader)

    @harmless
    def steps(self, optimizer: Any) -> None:
        """Note that the optimizer has made a step."""
        self.repeated.stepped()
        self._use("optimizer", optimizer)
        if id(optimizer) not in self._optimizers:
            self._knows(optimizer)

    @harmless
    def anomaly_mode(self, _: Any) -> None:
        """Anomaly mode is turned on or off."""
        place = self._place()
        if place is not None:
            self._note(("anomaly mode", "", 0), place)

    @harmless
    def threads_set(self, _: Any) -> None:
        """Note that the number of threads that compute is set; a loader's thread sets its own."""
        place = self._place()
        if place is not None:
            self._note(("threads", "", 0), place)

    def fail(self, error: BaseException) -> None:
        """Know nothing of any place."""
        self._failed = True
        self._objects.clear()
        self._used.clear()

    def noted(self) -> dict[str, Any]:
        """Return what a piece has to say.

        made: the kind, the file and the line of each use, and where that was made: its file,
            line and function, or None for one of several places. Of what holds everywhere the
            file is "".
        parameters: the shapes of all parameters that there are optimizers for, and how many
            have each.
        repeated: pairs of calls of a module on the same inputs, None if none are looked for.
        And what modules have to say.
        """
        counts: dict[tuple[int, ...], int] = {}
        for each in self._parameters().values():
            if type(each).__name__ == "DTensor":  # its gradient has another shape
                counts.clear()
                break
            with suppress(Exception):  # a lazy layer's has no shape yet
                dims = tuple(map(int, each.shape))
                counts[dims] = counts.get(dims, 0) + 1
        return {
            "made": [[*use, made] for use, made in self._used.items()],
            "parameters": [[*each] for each in counts.items()],
            **self.modules.noted(),
            "repeated": self.repeated.noted() if self.repeated.is_noted else None,
        }

    def _parameters(self) -> dict[int, Any]:
        """Those that there are optimizers for, each once."""
        found: dict[int, Any] = {}
        for reference in list(self._optimizers.values()):
            with suppress(Exception):  # a script's own may have groups of another form
                for group in getattr(reference(), "param_groups", ()):
                    found.update((id(each), each) for each in group["params"])
        return found if not self._failed else {}

    def _made(self, thing: Any) -> None:
        key = id(thing)
        gone = weakref.ref(thing, lambda _: self._objects.pop(key, None) and None)
        self._objects[key] = gone, self._place()

    def _knows(self, optimizer: Any) -> None:
        key = id(optimizer)
        gone = weakref.ref(optimizer, lambda _: self._optimizers.pop(key, None) and None)
        self._optimizers[key] = gone

    def _use(self, kind: str, thing: Any) -> None:
        _, made = self._objects.pop(id(thing), (None, None))
        place = self._place() if made is not None else None
        if made is not None and place is not None and len(self._used) < _MOST:
            self._note((kind, place[0], place[1]), made)

    def _note(self, use: tuple[str, str, int], place: Place) -> None:
        if self._used.setdefault(use, place) != place:  # it may be either
            self._used[use] = None

    def _place(self) -> Place | None:
        return self._places.of(sys._getframe(1))
