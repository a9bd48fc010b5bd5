"""The line of the user's source that calls an operator: what Kineto leaves out.

Frames are told by their file, looked at once: the user's own, libraries' (passed over), or the
engine's, where the search ends, since what runs under it was called by a line of the forward pass.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

from ..runtime.record_function import RecordFunction

_PASSED_OVER, _USER, _ENGINE = 0, 1, 2
_RUNTIME = str(Path(sys.modules[RecordFunction.__module__].__file__ or "").parent)
_OWN = (str(Path(__file__).parents[1]) + os.sep, _RUNTIME + os.sep)
_LIBRARIES = tuple(
    path + os.sep
    for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib")}
)


class _Kinds(dict[str, int]):
    """What a file is to us, by its name in a code object."""

    def __missing__(self, file: str) -> int:
        self[file] = kind = _kind(file)
        return kind


def _kind(file: str) -> int:
    if file == os.path.join(_RUNTIME, "engine.py"):  # noqa: PTH118
        return _ENGINE
    return _PASSED_OVER if is_own(file) or is_library(file) else _USER


def is_own(file: str) -> bool:
    """Whether a file is part of tidy, or was generated."""
    if file == "<string>":  # a namedtuple's, or the program of `python -c`
        return hasattr(sys.modules["__main__"], "__file__")
    return file.startswith(("<frozen ", "<operator ", *_OWN))


def is_library(file: str) -> bool:
    """Whether a file is Python's or an installed package's."""
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(_LIBRARIES)


_kinds = _Kinds()


def call_line(depth: int) -> tuple[CodeType, int] | None:
    """(code, offset of its instruction) of the user's frame that is nearest.

    Args:
        depth: of frames to leave out, as for `sys._getframe`, counted from here.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        kind = _kinds[frame.f_code.co_filename]
        if kind:
            return (frame.f_code, frame.f_lasti) if kind == _USER else None
        frame = frame.f_back
    return None


class FrameTexts(dict[tuple[int, int], str]):
    """`frame_text` of each place, once."""

    def of(self, place: tuple[CodeType, int] | None) -> str:
        if place is None:
            return ""
        key = (id(place[0]), place[1])  # to hash a code object takes long
        if key not in self:
            self[key] = frame_text(place)
        return self[key]


def frame_text(place: tuple[CodeType, int]) -> str:
    """`file(line): function`, with the line of the call."""
    code, offset = place
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return f"{shown_path(code.co_filename)}({line}): {code.co_name}"


@lru_cache(maxsize=1 << 12)
def shown_path(file: str) -> str:
    """A file as reports show it: from the working directory if it lies there, with slashes."""
    if file.startswith("<"):
        return file
    path = Path(file).absolute()
    try:
        path = path.relative_to(Path.cwd())
    except (ValueError, OSError):
        return path.as_posix()
    return path.as_posix()
