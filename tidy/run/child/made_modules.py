"""Where the script makes its modules, and where they become float64.

PyTorch calls hooks for each parameter and each submodule that a module is given. The first of them
comes from the constructor, whichever way that calls those of its bases, so no constructor is
touched. A module that the script's own class gives its parameters has none that a library made:
only where these are float64 is noted. Copies are made by no constructor, and have no place.

Conversions show where PyTorch's functions are logged (library.py): what `torch.compile` looks at
must stay as it is.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import nullcontext
from types import FrameType
from typing import Any

from .guard import Harmless, harmless
from .kept import weakref
from .user_places import Place, UserPlaces

_MOST = 50_000  # modules
_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Methods of modules that convert their tensors: the local variable that has the dtype, "" where
# that is what the name says.
_CONVERSIONS = {"to": "dtype", "type": "dst_type"} | dict.fromkeys(
    ("double", "float", "half", "bfloat16"), ""
)


class _Module:
    __slots__ = ("double", "kind", "made", "reference")

    def __init__(self, module: Any, made: Place | None) -> None:
        self.reference = weakref.ref(module)
        self.kind = type(module).__name__
        self.made, self.double = made, None


class MadeModules(Harmless):
    """Notes for each module where it was made, by its identity."""

    def __init__(self, places: UserPlaces) -> None:
        self._places = places
        self._known: dict[int, Any] = {}
        self._gone: set[tuple[Any, ...]] = set()  # those whose identity another one has now
        self._inside: set[str] = {functools.__file__}  # files of what a constructor calls
        self._framework: Any = None
        self._untouched: Any = nullcontext
        self._default: Place | None = None
        self._is_off = False

    def watch(self, framework: Any, module_class: Any) -> None:
        """Know the framework, a module as `torch`, and its class of modules."""
        self._framework = framework
        self._inside.add(module_class.__setattr__.__code__.co_filename)
        # A script's own modes and classes would be called for what we ask a tensor.
        c = getattr(framework, "_C", None)
        self._untouched = getattr(c, "DisableTorchFunction", nullcontext)

    @harmless
    def parameter_given(self, module: Any, _: str, parameter: Any) -> None:
        """Note that a module is given a parameter."""
        if self._is_known(module):
            return
        frame = self._giver()
        self._note(module, frame)
        with self._untouched():
            is_double = _is_double(parameter.dtype)
        if is_double:
            is_default = _is_double(self._framework.get_default_dtype())
            place = (is_default and self._default) or self._places.of(frame)
            self._known[id(module)].double = place

    @harmless
    def submodule_given(self, module: Any, *_: Any) -> None:
        """Note that a module is given another one."""
        if not self._is_known(module):
            self._note(module, self._giver())

    @harmless
    def converted(self, module: Any) -> None:
        """Note that a method which may convert them goes through all tensors of a module."""
        frame = _caller()
        while _is_apply(frame, module):  # a class of modules may have one of its own
            frame = frame and frame.f_back
        name = frame.f_code.co_name if frame is not None else ""
        if frame is None or name not in _CONVERSIONS or self._is_off:
            return
        dtype = frame.f_locals.get(_CONVERSIONS[name]) if _CONVERSIONS[name] else name
        if dtype is None:
            return
        place = self._places.of(frame) if _is_double(dtype) else None
        waiting, seen = [module], set()
        while waiting:
            each = waiting.pop()
            if each is None or id(each) in seen:
                continue
            seen.add(id(each))
            waiting += object.__getattribute__(each, "__dict__").get("_modules", {}).values()
            if not self._is_known(each):
                if place is None:
                    continue
                self._add(each, None)
            known = self._known[id(each)]
            known.double = place and (known.double or place)

    @harmless
    def default_set(self, *_: Any) -> None:
        """Note that the default dtype is set, and to what."""
        self._default = self._places.of(_caller())

    def fail(self, error: BaseException) -> None:
        """Know nothing of any place, or of one module where the script is at its limit of calls."""
        if isinstance(error, RecursionError):
            return
        self._is_off = True
        self._known.clear()
        self._gone.clear()
        self._default = None

    def noted(self) -> dict[str, Any]:
        """Return what a piece has to say.

        modules: where each was made and where it became float64, None where that is not known, its
            class, and the identities of all that have the same.
        double_default: where float64 was made the default dtype, if it is.
        """
        groups: dict[tuple[Any, ...], list[int]] = {}
        for identity, known in list(self._known.items()):
            module = known.reference()
            if module is not None:
                known.kind = type(module).__name__  # a lazy one has another class by now
            groups.setdefault((known.made, known.double, known.kind), []).append(identity)
        for *what, identity in self._gone:
            groups.setdefault(tuple(what), []).append(identity)
        is_double = self._default and _is_double(self._framework.get_default_dtype())
        return {
            "modules": [[*what, identities] for what, identities in groups.items()],
            "double_default": self._default if is_double else None,
        }

    def _is_known(self, module: Any) -> bool:
        known = self._known.get(id(module))
        return self._is_off or (known is not None and known.reference() is module)

    def _note(self, module: Any, frame: FrameType | None) -> None:
        """Note a module that is given its first part by a function: the user's or a library's."""
        is_own = frame is None or self._places.is_users[frame.f_code.co_filename]
        self._add(module, None if is_own else self._places.of(frame))

    def _add(self, module: Any, made: Place | None) -> None:
        identity = id(module)
        before = self._known.get(identity)
        if before is not None:
            self._gone.add((before.made, before.double, before.kind, identity))
        self._known[identity] = _Module(module, made)
        self._is_off = len(self._known) + len(self._gone) >= _MOST

    def _giver(self) -> FrameType | None:
        """Return the frame of what gives a module something."""
        frame = _caller()
        while frame is not None and frame.f_code.co_filename in self._inside:
            frame = frame.f_back
        return frame


def _caller() -> FrameType | None:
    """Return the frame of what has called us."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _is_apply(frame: FrameType | None, module: Any) -> bool:
    """Tell whether this is `_apply` of a module, which calls that of its submodules."""
    return (
        frame is not None
        and frame.f_code.co_name == "_apply"
        and frame.f_locals.get("self") is module
    )


def _is_double(dtype: Any) -> bool:
    """Tell whether this is float64, or a name of it."""
    name = str(dtype).lower()
    return "float64" in name or "double" in name
