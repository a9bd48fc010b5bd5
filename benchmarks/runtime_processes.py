"""What is measured in processes of their own: the time to import, and peaks of memory.

`python runtime_processes.py ours|torch counted|resident` prints a peak, in bytes.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from runtime_models import installed_torch, mlp_passes
from runtime_timing import Step, Timings, in_rounds, run

WIDTH, BATCH = 256, 4096


def _python(arguments: list[str], **more: str) -> str:
    """What a Python with these arguments prints."""
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": paths, **more}
    if more:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=True, env=environment, capture_output=True, text=True
    ).stdout


def imports(runs: int = 15) -> Timings:
    """Seconds of importing numpy, and of importing the runtime.

    Bytecode is cached, in a folder of its own, as it is for whatever is installed.
    """
    with tempfile.TemporaryDirectory() as cache:
        commands = {"numpy": "import numpy", "ours": "import tidy.runtime"}
        steps = {
            name: partial(_python, ["-c", command], PYTHONPYCACHEPREFIX=cache)
            for name, command in commands.items()
        }
        return in_rounds({name: partial(run, step, 1) for name, step in steps.items()}, runs)


def peak(who: str, how: str, runs: int = 3) -> float:
    """The median of a peak, in MiB, each from a process of its own."""
    printed = [_python([__file__, who, how]) for _ in range(runs)]
    return statistics.median(int(each.split()[-1]) for each in printed) / (1 << 20)


def _traced(step: Step) -> int:
    import tracemalloc

    tracemalloc.start()
    step()
    return tracemalloc.get_traced_memory()[1]


def _profiled(torch: Any, step: Step) -> int:
    """The greatest running total of what PyTorch's allocator reports."""
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as profile:
        step()
    events = profile.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    total = highest = 0
    for _, change in changes:
        total += change
        highest = max(highest, total)
    return highest


def _resident(step: Step) -> int:
    """By how much the process grew at most (Linux: the high-water mark can be set back)."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    step()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) << 10


def main() -> None:
    """Measure one peak: of forward and backward, beyond the weights and the batch."""
    who, how = sys.argv[1:]
    torch = installed_torch() if who == "torch" else import_module("tidy.runtime")
    step = mlp_passes(torch, WIDTH, BATCH)
    if how == "counted":
        step()
        gc.collect()
        print(_profiled(torch, step) if who == "torch" else _traced(step))
    else:
        mlp_passes(torch, 8, 8)()  # loads what is loaded at a first step
        gc.collect()
        print(_resident(step))


if __name__ == "__main__":
    main()
