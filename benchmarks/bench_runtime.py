"""`tidy.runtime` against PyTorch, HIPS autograd and bare numpy, in turn and in one run.

    PYTHONPATH=. python benchmarks/bench_runtime.py [--only mlp] [--json figures.json]
        [--hips .hips/lib/python3.11/site-packages]

One thread each. Times are medians; a ratio is the median over rounds in which every contender ran
for some milliseconds, and behind it stands what nine tenths of the rounds lie between. Contenders
that are not installed are left out.
"""

from __future__ import annotations

import os

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

import argparse
import contextlib
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import runtime_models as models
import runtime_operators as operators
import runtime_processes as processes
import runtime_unwatched as unwatched
from runtime_timing import Ratio, Step, Timings, in_turn

import tidy.runtime as ours
from tidy.runtime import engine

torch: Any
try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(1)

Row = dict[str, Any]
ROUNDS = 41


def _time(microseconds: float) -> str:
    """Milliseconds where there are some."""
    small = microseconds < 1000
    return f"{microseconds:.0f} µs" if small else f"{microseconds / 1000:.1f} ms"


def _row(what: str, against: str, ratio: Ratio, bound: float, **more: Any) -> Row:
    """A line of the table; a bound below zero is a least value."""
    held = ratio.median <= bound if bound >= 0 else ratio.median >= -bound
    return {"what": what, "against": against, "ratio": ratio, "bound": bound, "held": held, **more}


def _compared(what: str, timings: Timings, bounds: dict[str, float]) -> list[Row]:
    return [
        _row(
            what,
            base,
            timings.ratio("ours", base),
            bound,
            ours=_time(timings.microseconds("ours")),
            theirs=_time(timings.microseconds(base)),
        )
        for base, bound in bounds.items()
        if base in timings
    ]


def _against_torch(what: str, make: Callable[[Any], Step], bound: float) -> list[Row]:
    if torch is None:
        return []
    timings = in_turn({"ours": make(ours), "PyTorch": make(torch)}, ROUNDS)
    return _compared(what, timings, {"PyTorch": bound})


def mlp() -> list[Row]:
    """The small training step, in two ways of writing it."""
    rows = []
    for what, make in (("nn", models.mlp), ("functions", models.mlp_functional)):
        contenders = {"ours": make(ours, 64, 32)}
        if torch is not None:
            contenders["PyTorch"] = make(torch, 64, 32)
        with contextlib.suppress(ImportError):
            contenders["HIPS autograd"] = models.mlp_hips(64, 32)
        bounds = {"PyTorch": 0.8, "HIPS autograd": 0.35}
        rows += _compared(f"MLP 4 x 64, batch 32, {what}", in_turn(contenders, ROUNDS), bounds)
    return rows


def wide() -> list[Row]:
    """The same, large enough for arithmetic to count."""
    return _against_torch("MLP 4 x 512, batch 256", lambda t: models.mlp(t, 512, 256), 1.3)


def cnn() -> list[Row]:
    """Convolution and pooling."""
    return [
        row
        for size, optimizer in ((8, "SGD"), (8, "Adam"), (28, "SGD"))
        for row in _against_torch(
            f"CNN, 32 of {size} x {size}, {optimizer}",
            lambda t, size=size, optimizer=optimizer: models.cnn(t, size, optimizer),
            3.0,
        )
    ]


def transformer() -> list[Row]:
    """Attention, layer norm, GELU, embedding, Adam."""
    return _against_torch("transformer, 2 x 64, 16 x 32", models.transformer, 2.0)


def _untrimmed(step: Step) -> Step:
    def call() -> Any:
        engine.TRIM = False
        try:
            return step()
        finally:
            engine.TRIM = True

    return call


def trimming() -> list[Row]:
    """What it saves to leave out the gradients nobody asked for."""
    rows = []
    said = {"": "", "output": ", then backward", "rows": ", then backward from them"}
    for width, batch, inputs in ((1024, 1, 3), (512, 1, 3), (512, 256, 1), (256, 256, 3)):
        for then, more in said.items():
            step = models.hessian(ours, width, batch, inputs, then)
            timings = in_turn({"trimmed": step, "all": _untrimmed(step)}, 11)
            figures = {
                "ours": _time(timings.microseconds("trimmed")),
                "theirs": _time(timings.microseconds("all")),
            }
            what = f"{inputs} rows of a Hessian, 6 x {width}, batch {batch}{more}"
            gain, bound = timings.ratio("all", "trimmed"), 1.47 if then else 1.9
            rows.append(_row(what, "untrimmed, gain", gain, -bound, **figures))
    return rows


def memory() -> list[Row]:
    """The peak of forward and backward."""
    rows = []
    size = f"{processes.WIDTH}, batch {processes.BATCH}"
    for how, said in (("counted", "counted by the allocators"), ("resident", "growth of RSS")):
        if how == "resident" and not Path("/proc/self/clear_refs").exists():
            continue
        mine = processes.peak("ours", how)
        if torch is None:
            continue
        theirs = processes.peak("torch", how)
        ratio = Ratio(*[mine / theirs] * 3)
        figures = {"ours": f"{mine:.1f} MiB", "theirs": f"{theirs:.1f} MiB"}
        rows.append(_row(f"peak, MLP 4 x {size}, {said}", "PyTorch", ratio, 1.2, **figures))
    return rows


def imports() -> list[Row]:
    """Whole processes."""
    numpy, mine, ratio = processes.imports()
    figures = {"ours": f"{mine * 1e3:.0f} ms", "theirs": f"{numpy * 1e3:.0f} ms"}
    return [_row("import, whole process", "import numpy", ratio, 1.5, **figures)]


def hook() -> list[Row]:
    """The step with and without the tests for observers."""
    bare = unwatched.load(ours)
    contenders = {"ours": models.mlp(ours, 64, 32), "without the hook": models.mlp(bare, 64, 32)}
    timings = in_turn(contenders, 3 * ROUNDS)
    return _compared("MLP 4 x 64, batch 32, nobody observing", timings, {"without the hook": 1.02})


MEASURES = {f.__name__: f for f in (mlp, wide, cnn, transformer, trimming, memory, imports, hook)}


def _table(rows: list[Row]) -> None:
    print("| | ours | against | | ratio (nine tenths of the rounds) | bound | |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        bound = f"{'at least ' if row['bound'] < 0 else ''}{abs(row['bound'])}"
        verdict = "held" if row["held"] else "missed"
        cells = (row["what"], row["ours"], row["against"], row["theirs"], row["ratio"], bound)
        print(f"| {' | '.join(map(str, cells))} | {verdict} |", flush=True)


def _operator_table(found: dict[str, dict[str, float]]) -> None:
    ways = list(dict.fromkeys(way for figures in found.values() for way in figures))
    print(f"\n| µs per call, {operators.ROWS} x {operators.ROWS} | {' | '.join(ways)} |")
    print("|---" * (len(ways) + 1) + "|")
    for name, figures in found.items():
        cells = [f"{figures[way]:.1f}" if way in figures else "" for way in ways]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=[*MEASURES, "operators"], action="append")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--hips", help="the site-packages that has autograd, if not installed here")
    options = parser.parse_args()
    if options.hips:
        sys.path.append(options.hips)
    wanted = options.only or [*MEASURES, "operators"]
    others = f"PyTorch {torch.__version__}" if torch else "PyTorch left out: not installed"
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {others}, one thread each")
    if "mlp" in wanted:
        try:
            import autograd  # noqa: F401
        except ImportError:
            print("HIPS autograd left out: not installed")
    print()
    rows = [row for name, measure in MEASURES.items() if name in wanted for row in measure()]
    if rows:
        _table(rows)
    found = operators.measure(ours, torch) if "operators" in wanted else {}
    if found:
        _operator_table(found)
    if options.json:
        options.json.write_text(json.dumps({"measures": rows, "operators": found}, indent=1))


if __name__ == "__main__":
    main()
