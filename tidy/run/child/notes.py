"""Lines for the parent that can be left where no file can be written."""

from __future__ import annotations

from .kept import os

NO_TORCH, PROBLEM, CHILDREN = "no-torch", "problem", "children"  # their names


def leave_note(folder: str, name: str, text: str) -> None:
    """Leave a text in the folder of the recording, if that can be done in any way.

    A short target of a symbolic link takes neither a descriptor nor room on the disk. Where there
    are no such links (on Windows) it is a file.
    """
    path = f"{folder}{os.sep}{name}"
    try:
        os.symlink(text or "-", path)
    except (OSError, NotImplementedError, ValueError, AttributeError):
        try:
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except (OSError, ValueError):
            return


def read_note(folder: str, name: str) -> str | None:
    """Return the text of a note, None if there is none."""
    path = f"{folder}{os.sep}{name}"
    try:
        return os.readlink(path)
    except (OSError, NotImplementedError, ValueError, AttributeError):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except (OSError, ValueError):
            return None
