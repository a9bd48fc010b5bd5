"""The bar over the files that are read."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path

import pytest

from tidy import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_needs_no_thread_and_shows_the_end_of_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside threads processes cannot be forked, which workers are while it is shown."""
    monkeypatch.setattr(progress, "_LARGE_NBYTES", 1)
    monkeypatch.setattr(sys, "stderr", said := _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    paths = [str(tmp_path / name) for name in ("one.json", "two.json")]
    for path in paths:
        Path(path).write_bytes(b" " * 1_000_000)
    before = threading.active_count()
    with progress.reading(paths) as start:
        for path, at in zip(paths, ("1.0/2.0 MB", "2.0/2.0 MB"), strict=True):
            show = start(path)
            assert show is not None
            monkeypatch.setattr(progress, "_DRAWN_EACH_S", 0)
            show(1_000_000)
            assert at in said.getvalue()
            assert threading.active_count() == before
