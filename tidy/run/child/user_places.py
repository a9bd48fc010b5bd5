"""The line of the user's that is running, for what is noted when a library calls us."""

from __future__ import annotations

from types import FrameType
from typing import Any

from .lines import full_path, user_files

Place = tuple[str, int, str]  # file, line, function


class UserPlaces:
    """Finds the user's frames, by the files of their code."""

    def __init__(self, ours: str) -> None:
        self.is_users: Any = user_files(ours)
        self._paths: dict[str, str] = {}

    def of(self, frame: FrameType | None) -> Place | None:
        """Return the place of the innermost frame of the user's from this one on outwards."""
        while frame is not None and not self.is_users[frame.f_code.co_filename]:
            frame = frame.f_back
        if frame is None:
            return None
        code = frame.f_code
        path = self._paths.get(code.co_filename)
        if path is None:  # now: the script may go to another folder
            path = self._paths[code.co_filename] = full_path(code.co_filename)
        return path, frame.f_lineno or 0, code.co_name
