"""What a modelled device costs in real time: steps on it against the same steps on the CPU.

    python benchmarks/bench_device.py [--rounds N] [--recorded]

Each model runs in two processes, one for each device, which take turns; a round gives one ratio.
`--recorded` has both recorded, with shapes, lines and memory, as `tidy run` does.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from typing import Any

from runtime_timing import run, spread

MODELS = {
    "MLP, 64 wide": ("mlp", 64, 64),
    "MLP, 256 wide": ("mlp", 256, 256),
    "MLP, 512 wide": ("mlp", 512, 256),
    "CNN, 16 x 16": ("cnn", 16),
    "CNN, 28 x 28": ("cnn", 28),
    "transformer": ("transformer", 64),
    "transformer, 256 wide": ("transformer", 256),
}
_SLOT = 0.05  # seconds in each turn


def _work(pipe: Any, model: tuple[Any, ...], device: str, recorded: bool) -> None:
    os.environ["BENCH_DEVICE"] = device
    if device != "cpu":
        os.environ["TIDY_DEVICE"] = "a100"
    import runtime_models

    import tidy.runtime as torch
    from tidy.profiler import profile

    step = getattr(runtime_models, model[0])(torch, *model[1:])
    step()
    number = max(1, round(_SLOT / min(run(step, 1) for _ in range(5))))
    while pipe.recv():
        if recorded:
            with profile(record_shapes=True, with_stack=True, profile_memory=True):
                seconds = run(step, number)
        else:
            seconds = run(step, number)
        pipe.send(seconds)


def _pair(model: tuple[Any, ...], rounds: int, recorded: bool) -> tuple[Any, float]:
    """The spread of the ratios, and the median step on the CPU in seconds."""
    context = multiprocessing.get_context("spawn")
    pipes = []
    for device in ("cpu", "cuda"):
        ours, theirs = context.Pipe()
        context.Process(target=_work, args=(theirs, model, device, recorded), daemon=True).start()
        pipes.append(ours)
    ratios, base = [], []
    for number in range(rounds + 1):
        times = [0.0, 0.0]
        for which in (0, 1) if number % 2 else (1, 0):
            pipes[which].send(True)
            times[which] = pipes[which].recv()
            time.sleep(0.005)
        if number:  # the first warms up
            ratios.append(times[1] / times[0])
            base.append(times[0])
    for pipe in pipes:
        pipe.send(False)
    return spread(ratios), sorted(base)[len(base) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--recorded", action="store_true")
    options = parser.parse_args()
    for name, model in MODELS.items():
        ratio, base = _pair(model, options.rounds, options.recorded)
        text = f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
        sys.stdout.write(f"{name:24}{base * 1e6:10.0f} us on the CPU{text:>24}\n")


if __name__ == "__main__":
    main()
