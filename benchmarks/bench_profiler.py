"""What recording costs: a recorded training step as a multiple of one that nobody records.

    PYTHONPATH=. python benchmarks/bench_profiler.py [--json figures.json]

The step is that of the 4-layer 64-wide MLP at batch 32, on tidy.runtime with tidy's profiler and,
where PyTorch is installed, on PyTorch with torch.profiler. All modes take turns in each round, a
recording for some milliseconds; starting and stopping it is not counted. Medians over the rounds,
and between what nine tenths of them lie. `benchmarks/bench_runtime.py --only hook` has what the
hook costs while nobody records.
"""

from __future__ import annotations

import os

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

import argparse
import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import runtime_models as models
from runtime_timing import Step, Timings, run

import tidy.runtime as ours
from tidy.profiler import profile

Options = dict[str, bool]
MODES: dict[str, Options] = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "shapes and stacks": {"record_shapes": True, "with_stack": True},
    "shapes, stacks and memory": {
        "record_shapes": True,
        "with_stack": True,
        "profile_memory": True,
    },
}
BOUNDS = {"plain": 1.5, "shapes, stacks and memory": 3.5}
ROUNDS, STEPS = 31, 60


def _recorded(step: Step, make: Callable[..., Any], options: Options) -> float:
    """Seconds per step while a profiler records."""
    profiler = make(**options)
    profiler.start()
    try:
        return run(step, STEPS)
    finally:
        profiler.stop()


def compare(step: Step, make: Callable[..., Any]) -> Timings:
    """Seconds per step by mode, "off" among them."""
    found = Timings({name: [] for name in ("off", *MODES)})
    run(step, STEPS)
    for number in range(ROUNDS + 1):
        times = {"off": run(step, STEPS)}
        times |= {name: _recorded(step, make, options) for name, options in MODES.items()}
        if number:  # the first warms up
            for name, seconds in times.items():
                found[name].append(seconds)
        gc.collect()  # what one recording leaves is not to be paid for in the next
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path)
    target: Path | None = parser.parse_args().json
    results = {"tidy.runtime": compare(models.mlp(ours, 64, 32), profile)}
    try:
        import torch
        from torch.profiler import ProfilerActivity
        from torch.profiler import profile as torch_profile
    except ImportError:
        pass
    else:
        torch.set_num_threads(1)

        def make(**options: bool) -> Any:
            return torch_profile(activities=[ProfilerActivity.CPU], **options)

        results["PyTorch"] = compare(models.mlp(torch, 64, 32), make)
    figures = {}
    for name, timings in results.items():
        print(f"{name}: {timings.microseconds('off'):.0f} us a step, recorded")
        for mode in MODES:
            ratio = timings.ratio(mode, "off")
            bound = BOUNDS.get(mode) if name == "tidy.runtime" else None
            verdict = (
                ""
                if bound is None
                else f"  bound {bound}: " + ("held" if ratio.median <= bound else "NOT HELD")
            )
            print(f"  {mode:26} {ratio}{verdict}")
            figures[f"{name}, {mode}"] = ratio._asdict()
    if target is not None:
        target.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    main()
