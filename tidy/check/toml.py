"""Reading TOML, and finding the configuration file for a folder."""

from __future__ import annotations

import sys
from contextlib import suppress
from os.path import exists, isfile
from pathlib import Path
from typing import Any

from ..errors import ConfigError, reason_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_NAME, PROJECT_NAME = "tidy.toml", "pyproject.toml"
_ROOTS = (".git", ".hg")  # the folder that has one is the last that is looked at
_SCHEMA = "$schema"
_WITHOUT = "--no-config goes without it"
Table = dict[str, Any]


def find_file(start: Path) -> Path | None:
    """Return the nearest `tidy.toml` or pyproject.toml with a table [tool.tidy], from a folder
    upwards.

    The search ends at the root of a repository.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        own, project = folder / OWN_NAME, folder / PROJECT_NAME
        if isfile(own):  # noqa: PTH113 - pathlib raises an error where the system forbids to look
            return own
        if isfile(project) and _own_table(project) is not None:  # noqa: PTH113
            return project
        if any(exists(folder / name) for name in _ROOTS):  # noqa: PTH110
            return None
    return None


def read_table(file: Path) -> tuple[Table, str]:
    """Return the settings in a file, and what comes before their keys: "tool.tidy." or ""."""
    if file.name != PROJECT_NAME:
        table = _read(file)
        table.pop(_SCHEMA, None)
        return table, ""
    own = _own_table(file)
    if own is None:
        raise ConfigError(f"{shown(file)}: it has no table [tool.tidy]")
    return own, "tool.tidy."


def shown(file: Path) -> str:
    """Return the path as messages write it: relative to the working directory where it is
    below it.
    """
    with suppress(OSError, ValueError):
        file = file.relative_to(Path.cwd())
    text = str(file)
    return text if text.isprintable() else ascii(text)


def _own_table(project: Path) -> Table | None:
    tool = _read(project).get("tool")
    own = tool.get("tidy") if isinstance(tool, dict) else None
    if own is not None and not isinstance(own, dict):
        raise ConfigError(f"{shown(project)}: tool.tidy: this has to be a table")
    return own


def _read(file: Path) -> Table:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"{shown(file)}: cannot be read: {reason_of(error)}; {_WITHOUT}"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{shown(file)}: this is no UTF-8, which TOML is; {_WITHOUT}") from None
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what = " ".join(ascii(str(error))[1:-1].split()) or "nested too deeply"
        raise ConfigError(f"{shown(file)}: this is no TOML: {what}; {_WITHOUT}") from None
