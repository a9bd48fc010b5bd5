"""The recorder in a process that asked for it itself, as `tidy.record` does.

It is begun on the thread that asks and closed by it. How the process ends is not its matter: there
is nobody left then who would read what it recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from .piece_writer import PieceWriter, children_ms
from .recorder import Recorder
from .start import make_backend

_running: list[Recorder] = []


def attach(framework: str, settings: dict[str, Any]) -> Recorder:
    """Record from now on, until `detach`, without Python functions of the folder `ours`.

    Raises:
        RuntimeError: a recording or a profiler runs already, or it cannot begin.
    """
    if _running:
        raise RuntimeError("a recording of this process runs already, and there can be only one")
    # Under `tidy run` its recorder goes by another name; as it does for a profiler, it gives way.
    outer = sys.modules.get("_tidy_child.start")
    if outer is not None:
        outer.give_way()
    backend = make_backend(framework, settings)
    if backend.has_profiler():
        raise RuntimeError("a profiler runs already, and there can be only one: stop it first")
    pieces = PieceWriter(settings["folder"], framework, children_ms())
    recorder = Recorder(backend, pieces, settings)
    _watch_forks()
    _running.append(recorder)
    recorder.begin()
    if "problem" in pieces.state:
        detach(recorder)
        raise RuntimeError(pieces.state["problem"])
    return recorder


def when_runtime_steps(call: Callable[[], object]) -> Any:
    """Have a function called after each optimizer step of tidy.runtime; what has `remove()`."""
    from tidy.runtime.optim.optimizer import register_optimizer_step_post_hook

    return register_optimizer_step_post_hook(lambda *_: call() and None)


def detach(recorder: Recorder) -> None:
    """End the recording and leave nothing of it behind."""
    try:
        recorder.close()
    finally:
        if recorder in _running:
            _running.remove(recorder)


@cache
def _watch_forks() -> None:
    """Record nothing in forked children; once a process: what is registered for forks stays."""

    def leave() -> None:
        for recorder in _running:
            recorder.leave()
        _running.clear()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=leave)
