"""How long processes that a worker has started have computed."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tidy.run.child.worker_reports import beside_ns
from tidy.runtime.data import worker

_CHILDREN = Path("/proc/thread-self/children")
pytestmark = pytest.mark.skipif(not _CHILDREN.exists(), reason="the system does not tell")
_COMPUTES = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"


@contextmanager
def _children() -> Iterator[set[int]]:
    """Give their numbers. While this lasts two processes wait that have computed for 0.2 s each."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _COMPUTES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for each in started:
        assert each.stdout is not None
        each.stdout.readline()
    try:
        yield {each.pid for each in started}
    finally:
        for each in started:
            each.communicate(b"\n")


@pytest.mark.parametrize("ways", [beside_ns, worker._beside_ns], ids=["torch", "runtime"])
def test_a_child_that_cannot_be_read_hides_no_other(
    ways: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that ends while its parent looks at it; it is the first of them that is listed."""
    before_ns = ways()
    with _children() as ours:
        first = next(pid for pid in map(int, _CHILDREN.read_bytes().split()) if pid in ours)
        gone = f"/proc/{first}/stat"
        with monkeypatch.context() as patch:
            _hide(gone, patch)
            assert ways() - before_ns >= 0.15e9


def _hide(gone: str, patch: pytest.MonkeyPatch) -> None:
    opens, reads = builtins.open, worker._read

    def opened(path: Any, *more: Any, **given: Any) -> Any:
        if path in (gone, gone.encode()):
            raise FileNotFoundError(path)
        return opens(path, *more, **given)

    def read(path: str) -> bytes:
        if f"/proc/{path}" == gone:
            raise FileNotFoundError(path)
        return reads(path)

    patch.setattr(builtins, "open", opened)
    patch.setattr(worker, "_read", read)
