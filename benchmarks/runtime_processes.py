"""What is measured in processes of their own: the time to import, and peaks of memory.

`python runtime_processes.py ours|torch counted|resident` prints a peak, in bytes.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from runtime_timing import Ratio, Step, spread

WIDTH, BATCH = 256, 4096
_THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


def _environment() -> dict[str, str]:
    return {**os.environ, **_THREADS, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def imports(runs: int = 15) -> tuple[float, float, Ratio]:
    """Median seconds of importing numpy and of importing the runtime, and the ratio.

    Bytecode is cached, in a folder of its own, as it is for whatever is installed.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**_environment(), "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return _imports(runs, environment)


def _imports(runs: int, environment: dict[str, str]) -> tuple[float, float, Ratio]:
    commands = ["import numpy", "import tidy.runtime"]
    found: dict[str, list[float]] = {command: [] for command in commands}
    for number in range(runs + 1):
        for command in commands:
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", command], check=True, env=environment)
            if number:
                found[command].append(time.perf_counter() - started)
    numpy, ours = (sorted(found[command]) for command in commands)
    ratios = [b / a for a, b in zip(*(found[command] for command in commands), strict=True)]
    return numpy[len(numpy) // 2], ours[len(ours) // 2], spread(ratios)


def peak(who: str, how: str, runs: int = 3) -> float:
    """The median of a peak, in MiB, each from a process of its own."""
    command = [sys.executable, __file__, who, how]
    found = []
    for _ in range(runs):
        done = subprocess.run(
            command, check=True, env=_environment(), capture_output=True, text=True
        )
        found.append(int(done.stdout.split()[-1]) / (1 << 20))
    return sorted(found)[len(found) // 2]


def _traced(step: Step) -> int:
    import tracemalloc

    tracemalloc.start()
    step()
    return tracemalloc.get_traced_memory()[1]


def _profiled(torch: Any, step: Step) -> int:
    """The greatest running total of what PyTorch's allocator reports."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
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
    import runtime_models

    torch: Any
    if who == "torch":
        import torch

        torch.set_num_threads(1)
    else:
        import tidy.runtime as torch
    step = runtime_models.mlp_passes(torch, WIDTH, BATCH)
    if how == "counted":
        step()
        gc.collect()
        print(_profiled(torch, step) if who == "torch" else _traced(step))
    else:
        runtime_models.mlp_passes(torch, 8, 8)()  # loads what is loaded at a first step
        gc.collect()
        print(_resident(step))


if __name__ == "__main__":
    main()
