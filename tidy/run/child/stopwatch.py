"""Timing the steps of a script: nothing is recorded, and corrections may be switched on."""

from __future__ import annotations

import atexit
import json
import os
import sys
import weakref
from typing import Any

from .corrections import apply

TIMES = "times.json"


def time_steps(framework: str, settings: dict[str, Any]) -> None:
    """Note when each step of the first optimizer ends, and end the script after the last.

    Args:
        framework: "torch" or "runtime", which is imported.
        settings: `warmup` and `steps` together are how many; `corrections` are codes of rules.
    """
    name = "torch" if framework == "torch" else "tidy.runtime"
    if framework == "torch":
        from .torch_backend import TorchBackend as Backend
    else:
        from .runtime_backend import RuntimeBackend as Backend  # type: ignore[assignment]
    backend: Any = Backend(settings)
    torch: Any = sys.modules[name]
    synchronize = torch.cuda.synchronize  # a correction may put another in its place
    apply(torch, settings["corrections"])
    times_ns: list[int] = []
    last = settings["warmup"] + settings["steps"]
    known: list[Any] = []
    pid = os.getpid()

    def wait_for_devices() -> None:
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            synchronize()

    def write() -> None:
        if os.getpid() != pid:
            return
        wait_for_devices()
        times = {"steps_ns": times_ns, "done_ns": backend.now_ns()}
        path = os.path.join(settings["folder"], TIMES)
        with open(f"{path}.part", "w", encoding="utf-8") as file:
            json.dump(times, file)
        os.replace(f"{path}.part", path)

    def on_step(optimizer: Any, *_: Any) -> None:
        first = known[0]() if known else None
        if first is None:
            known[:] = [weakref.ref(optimizer)]
        elif first is not optimizer:
            return
        if len(times_ns) == settings["warmup"]:
            wait_for_devices()
        times_ns.append(backend.now_ns())
        if len(times_ns) > last:
            raise SystemExit(0)

    backend.on_step(on_step)
    atexit.register(write)
