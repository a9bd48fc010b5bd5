"""How much text files hold, as far as their sizes tell; nothing is read for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .urls import is_url, url_nbytes

# Ranks are compared with all their traces in memory while these are no more than a few.
_MOST_FILES = 64
_MOST_NBYTES = 2 << 30  # of text
_UNPACKS_TO = 12  # times its size, as traces in gzip do
_PLAIN = (".json", ".sqlite", ".nvprof")


def is_few(paths: Sequence[str]) -> bool:
    """Tell whether the traces of all files may be in memory together, as far as sizes tell."""
    return len(paths) <= _MOST_FILES and not has_text(paths, _MOST_NBYTES + 1)


def has_text(paths: Sequence[str], nbytes: int) -> bool:
    """Tell whether the files hold about so much text; once they do, no more sizes are asked for."""
    held = 0
    for path in paths:
        if held >= nbytes:
            break
        held += _nbytes(path) * (1 if path.endswith(_PLAIN) else _UNPACKS_TO)
    return held >= nbytes


def _nbytes(path: str) -> int:
    if is_url(path):
        return url_nbytes(path)
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0
