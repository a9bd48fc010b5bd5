"""Kernel names that a C++ compiler mangled."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

_SECONDS = 20
_MANGLED = "_Z"


def demangle(names: Mapping[int, str]) -> dict[int, str]:
    """The names as they stood in the source; where `c++filt` is not installed, as given."""
    mangled = [name for name in names.values() if name.startswith(_MANGLED) and "\n" not in name]
    readable = dict(zip(mangled, _filter(mangled), strict=False))
    return {key: readable.get(name, name) for key, name in names.items()}


def _filter(mangled: list[str]) -> list[str]:
    tool = shutil.which("c++filt") if mangled else None
    if tool is None:
        return []
    text = "\n".join(mangled).encode("utf-8", "replace")
    try:
        done = subprocess.run(  # noqa: S603  # names are given on stdin, not as arguments
            [tool], input=text, capture_output=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines if len(lines) == len(mangled) else []
