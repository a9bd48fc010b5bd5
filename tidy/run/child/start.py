"""Beginning to record the process that a script runs in."""

from __future__ import annotations

from typing import Any

from . import endings, own_frames
from .guard import one_line
from .kept import MAIN_THREAD, thread
from .piece_writer import PieceWriter
from .recorder import Recorder


def record(framework: str, settings: dict[str, Any]) -> None:
    """Record this process, or time its steps; what goes wrong is left for the parent to say."""
    if settings["corrections"] is not None:
        from .stopwatch import time_steps

        time_steps(framework, make_backend(framework, settings), settings)
        return
    pieces = PieceWriter(settings["folder"], framework)
    if framework == "torch" and thread.get_ident() != MAIN_THREAD:
        # Its profiler says on stderr that the thread which imported it has to start it.
        pieces.write_state(problem="PyTorch was imported by another thread than the main one")
        return
    try:
        recorder = Recorder(make_backend(framework, settings), pieces, settings)
    except Exception as error:  # whatever it is, the script goes on
        pieces.write_state(problem=f"cannot be recorded: {one_line(error)}")
        return
    _of_process.append(recorder)
    endings.install(recorder)
    own_frames.hide()
    if thread.get_ident() == MAIN_THREAD:
        recorder.begin()
        return

    def ask() -> bool:
        if recorder.state != "new":
            return False
        endings.call_in_main_thread(recorder.begin)
        return True

    ask()
    endings.Ticker(0.05, ask)  # that thread may have been too deep in calls for it


_of_process: list[Recorder] = []


def give_way() -> None:
    """End the recording of this process, if there is one: the script begins one of its own."""
    for recorder in _of_process:
        recorder.yield_to_script()


def make_backend(framework: str, settings: dict[str, Any]) -> Any:
    """Return what records the framework, "torch" or "runtime", which is imported."""
    if framework == "torch":
        from .torch_backend import TorchBackend

        return TorchBackend(settings)
    from .runtime_backend import RuntimeBackend

    return RuntimeBackend(settings)
