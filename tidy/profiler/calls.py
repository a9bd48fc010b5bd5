"""The line of the user's source that calls an operator: what Kineto leaves out.

Frames are told by their file, looked at once: the user's own, libraries' (passed over), or the
engine's, where the search ends, since what runs under it was called by a line of the forward pass.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar

from ..cells import cell_name
from ..runtime.engine import engine
from ..trace.location import is_user_file

_PASSED_OVER, _USER, _ENGINE = 0, 1, 2
_RUNTIME = str(Path(engine.__file__).parents[1])
_OWN = (str(Path(__file__).parents[1]) + os.sep, _RUNTIME + os.sep)
_LIBRARIES = tuple(
    path + os.sep
    for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib")}
)


T = TypeVar("T")


class ByFile(dict[str, T]):
    """What is known of files, by their names in code objects; each is looked at once."""

    def __init__(self, look: Callable[[str], T]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, file: str) -> T:
        self[file] = found = self._look(file)
        return found


def _kind(file: str) -> int:
    """What a file is to us."""
    if file in engine.FILES:
        return _ENGINE
    is_passed = is_own(file) or is_installed(file) or is_standard_library(file)
    return _PASSED_OVER if is_passed else _USER


def is_own(file: str) -> bool:
    """Tell whether a file is part of tidy, or was generated."""
    if file == "<string>":  # a namedtuple's, or the program of `python -c`
        return hasattr(sys.modules["__main__"], "__file__")
    return file.startswith(("<frozen ", "<operator ", *_OWN))


def is_standard_library(file: str) -> bool:
    """Tell whether a file comes with Python."""
    return file.startswith(_LIBRARIES) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Tell whether a file is part of an installed package."""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


_kinds = ByFile(_kind)


def line_of(frame: FrameType | None) -> tuple[CodeType, int] | None:
    """(code, offset of its instruction) of the user's frame that is nearest to a frame."""
    while frame is not None:
        kind = _kinds[frame.f_code.co_filename]
        if kind:
            return (frame.f_code, frame.f_lasti) if kind == _USER else None
        frame = frame.f_back
    return None


def backward_line(frame: FrameType | None) -> tuple[CodeType, int] | None:
    """Return the same for a backward, below whose start the engine's frames are left out."""
    passed = False
    while frame is not None:
        engine = _kinds[frame.f_code.co_filename] == _ENGINE
        if passed and not engine:
            return line_of(frame)
        passed = passed or engine
        frame = frame.f_back
    return None


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold: names of files that are no Unicode have half surrogate
    pairs.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# Whether what calls an operator, by its file, is a derivative, the engine or an operator.
is_formula = ByFile(lambda file: file.startswith("<operator ") or _kinds[file] == _ENGINE)


class FrameTexts:
    """Texts of places and of functions, each made once, with files as seen from one directory."""

    def __init__(self, directory: Path) -> None:
        self._files = ByFile(lambda file: shown_path(file, directory))
        # By identity, since to hash a code object takes long; the records keep them alive.
        self._texts: dict[tuple[int, int], str] = {}

    def of(self, place: tuple[CodeType, int] | None) -> str:
        """`file(line): function`, with the line of the call; "" where it is not known."""
        if place is None:
            return ""
        code, offset = place
        key = (id(code), offset)
        if key not in self._texts:
            file, line = self._files[code.co_filename], _line_at(code, offset)
            self._texts[key] = encodable(f"{file}({line}): {code.co_name}")
        return self._texts[key]

    def function(self, code: CodeType) -> str:
        """Return the same with the first line of the function."""
        return self.of((code, -1))


def _line_at(code: CodeType, offset: int) -> int:
    """The line of an instruction, that of the function where there is none."""
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            return number
    return code.co_firstlineno


def shown_path(file: str, directory: Path) -> str:
    """Return a file as reports show it: from `directory` if it lies there, with slashes.

    It is shown in full where what is left would look like a library's: `test/train.py`, `code.py`.
    """
    cell = cell_name(file)
    if cell is not None or file.startswith("<"):
        return cell or file
    if file.startswith(_RUNTIME + os.sep):  # under its own name, wherever it lies
        return "tidy/runtime" + file[len(_RUNTIME) :].replace(os.sep, "/")
    path = _absolute(Path(file), directory)
    try:
        short = path.relative_to(directory).as_posix()
    except ValueError:
        return path.as_posix()
    return path.as_posix() if is_user_file(short) != is_user_file(path.as_posix()) else short


def _absolute(path: Path, directory: Path) -> Path:
    """Python runs the main script under the name it was given, from where it was started."""
    if path.is_absolute():
        return path
    main = Path(getattr(sys.modules["__main__"], "__file__", None) or "")
    if main.is_absolute() and main.parts[-len(path.parts) :] == path.parts:
        return main
    return directory / path
