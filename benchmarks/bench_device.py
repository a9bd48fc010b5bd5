"""What a modelled device costs in real time: steps on it against the same steps on the CPU.

    python benchmarks/bench_device.py [--rounds N] [--recorded]

Each model runs in two processes, one for each device, which take turns; a round gives one ratio.
`--recorded` has both recorded, with shapes, lines and memory, as `tidy run` does.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from contextlib import nullcontext
from functools import partial
from typing import Any

from runtime_timing import how_often, in_rounds, run

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
    """Answer each message with the seconds of a step."""
    os.environ["BENCH_DEVICE"] = device
    if device != "cpu":
        os.environ["TIDY_DEVICE"] = "a100"
    import runtime_models

    import tidy.runtime as torch
    from tidy.profiler import profile

    step = getattr(runtime_models, model[0])(torch, *model[1:])
    number = how_often(step, _SLOT)
    watch = partial(profile, record_shapes=True, with_stack=True, profile_memory=True)
    while True:
        pipe.recv()
        with watch() if recorded else nullcontext():
            seconds = run(step, number)
        pipe.send(seconds)


def _asked(pipe: Any) -> float:
    pipe.send(None)
    return float(pipe.recv())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--recorded", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    for name, model in MODELS.items():
        measures, processes = {}, []
        for device in ("cpu", "cuda"):
            ours, theirs = context.Pipe()
            arguments = theirs, model, device, options.recorded
            processes.append(context.Process(target=_work, args=arguments, daemon=True))
            processes[-1].start()
            measures[device] = partial(_asked, ours)
        timings = in_rounds(measures, options.rounds)
        for process in processes:
            process.terminate()
        base, ratio = timings.microseconds("cpu"), timings.ratio("cuda", "cpu")
        print(f"{name:24}{base:10.0f} us on the CPU{ratio!s:>24}", flush=True)


if __name__ == "__main__":
    main()
