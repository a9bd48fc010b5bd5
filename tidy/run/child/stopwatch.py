"""Timing the steps of a script: nothing is recorded, and corrections may be switched on."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from .corrections import apply
from .piece_writer import write_json
from .step_source import StepSource

TIMES = "times.json"


def time_steps(framework: str, backend: Any, settings: dict[str, Any]) -> None:
    """Note when each step of the first optimizer ends, and end the script after the last.

    With what `corrections` corrects there are so many steps as `warmup` and `steps` together.
    """
    torch: Any = sys.modules["torch" if framework == "torch" else "tidy.runtime"]
    synchronize = torch.cuda.synchronize  # a correction may put another in its place
    apply(torch, settings["corrections"])
    times_ns: list[int] = []
    last = settings["warmup"] + settings["steps"]
    source = StepSource(is_loop=False)
    pid = os.getpid()

    def wait_for_devices() -> None:
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            synchronize()

    def write() -> None:
        if os.getpid() != pid:
            return
        wait_for_devices()
        times = {"steps_ns": times_ns, "done_ns": backend.now_ns()}
        write_json(os.path.join(settings["folder"], TIMES), times)

    def note() -> None:
        if len(times_ns) == settings["warmup"]:
            wait_for_devices()
        times_ns.append(backend.now_ns())
        if len(times_ns) > last:
            raise SystemExit(0)

    def on_step(optimizer: Any, *_: Any) -> None:
        if source.counts(optimizer):
            note()

    def on_replay() -> None:
        if source.give_to_loop():
            times_ns.clear()
        note()

    backend.on_step(on_step, on_replay, source.made)
    atexit.register(write)
