"""`tidy.runtime` against PyTorch, HIPS autograd and bare numpy, in turn and in one run.

    PYTHONPATH=. python benchmarks/bench_runtime.py [--only mlp] [--json figures.json]
        [--hips .hips/lib/python3.11/site-packages]

One thread each. Times are medians; a ratio is the median over rounds in which every contender ran
for some milliseconds, and behind it stands what nine tenths of the rounds lie between. Contenders
that are not installed are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import json
import platform
import sys
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import runtime_models as models
import runtime_operators as operators
import runtime_processes as processes
import runtime_unwatched as unwatched
from runtime_timing import Ratio, Step, Timings, in_rounds, in_turn, run

import tidy.runtime as ours
from tidy.profiler import profile
from tidy.runtime.engine import engine

torch = models.installed_torch()
Row = dict[str, Any]
ROUNDS = 41
_RECORDED = {  # how many options are on, and the bound of tidy's profiler
    "plain": (0, 1.5),
    "shapes": (1, inf),
    "shapes and stacks": (2, inf),
    "shapes, stacks and memory": (3, 3.5),
}


def _time(microseconds: float) -> str:
    """Milliseconds where there are some."""
    small = microseconds < 1000
    return f"{microseconds:.0f} µs" if small else f"{microseconds / 1000:.1f} ms"


def _row(what: str, mine: str, against: str, theirs: str, ratio: Ratio, bound: float) -> Row:
    """A line of the table; a bound below zero is a least value."""
    held = ratio.median <= bound if bound >= 0 else ratio.median >= -bound
    figures = {"ratio": ratio, "bound": None if bound == inf else bound, "held": held}
    return {"what": what, "ours": mine, "against": against, "theirs": theirs, **figures}


def _compared(
    what: str, timings: Timings, bounds: dict[str, float], mine: str = "ours"
) -> list[Row]:
    times = {name: _time(timings.microseconds(name)) for name in timings}
    return [
        _row(what, times[mine], base, times[base], timings.ratio(mine, base), bound)
        for base, bound in bounds.items()
        if base in timings
    ]


def _against_torch(what: str, make: Callable[[Any], Step], bound: float) -> list[Row]:
    if torch is None:
        return []
    timings = in_turn({"ours": make(ours), "PyTorch": make(torch)}, ROUNDS)
    return _compared(what, timings, {"PyTorch": bound})


def mlp() -> list[Row]:
    """The small training step, in three ways of writing it."""
    rows, forms = [], {"nn": models.mlp, "functions": models.mlp_functional}
    forms["operators"] = models.mlp_operators
    for what, make in forms.items():
        contenders = {"ours": make(ours, 64, 32)}
        if torch is not None:
            contenders["PyTorch"] = make(torch, 64, 32)
        with contextlib.suppress(ImportError):
            contenders["HIPS autograd"] = models.mlp_hips(64, 32)
        bounds = {"PyTorch": 0.6, "HIPS autograd": 0.35}
        rows += _compared(f"MLP 4 x 64, batch 32, {what}", in_turn(contenders, ROUNDS), bounds)
    return rows


def wide() -> list[Row]:
    """The same, large enough for arithmetic to count."""
    return _against_torch("MLP 4 x 512, batch 256", lambda t: models.mlp(t, 512, 256), 0.85)


def cnn() -> list[Row]:
    """Convolution and pooling."""
    return [
        row
        for size, optimizer in ((8, "SGD"), (8, "Adam"), (28, "SGD"))
        for row in _against_torch(
            f"CNN, 32 of {size} x {size}, {optimizer}",
            lambda t, size=size, optimizer=optimizer: models.cnn(t, size, optimizer),
            1.2,
        )
    ] + _against_torch("CNN with batch norm, 32 of 8 x 8, SGD", models.cnn_with_norms, 1.2)


def transformer() -> list[Row]:
    """Attention, layer norm, GELU, embedding, Adam."""
    return [
        *_against_torch("small GPT, 2 x 64, 16 x 32", models.transformer, 1.2),
        *_against_torch("TransformerEncoder, 2 x 64, 16 x 32", models.encoder, 1.2),
    ]


def recurrent() -> list[Row]:
    """Many small steps one after the other."""
    return [
        row
        for kind in ("LSTM", "GRU")
        for row in _against_torch(
            f"{kind}, 2 x 64, 32 x 16", lambda t, kind=kind: models.recurrent(t, kind), 1.2
        )
    ]


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
            mine, theirs = (_time(timings.microseconds(name)) for name in timings)
            what = f"{inputs} rows of a Hessian, 6 x {width}, batch {batch}{more}"
            gain, bound = timings.ratio("all", "trimmed"), -1.47 if then else -1.9
            rows.append(_row(what, mine, "untrimmed, gain", theirs, gain, bound))
    return rows


def memory() -> list[Row]:
    """The peak of forward and backward."""
    rows = []
    what = f"peak, MLP 4 x {processes.WIDTH}, batch {processes.BATCH}"
    for how, said in (("counted", "counted by the allocators"), ("resident", "growth of RSS")):
        if torch is None or (how == "resident" and not Path("/proc/self/clear_refs").exists()):
            continue
        mine, theirs = processes.peak("ours", how), processes.peak("torch", how)
        peaks, ratio = (f"{mine:.1f} MiB", "PyTorch", f"{theirs:.1f} MiB"), mine / theirs
        rows.append(_row(f"{what}, {said}", *peaks, Ratio(ratio, ratio, ratio), 1.2))
    return rows


def imports() -> list[Row]:
    """Whole processes."""
    timings = processes.imports()
    mine, theirs = (f"{timings.microseconds(name) / 1e3:.0f} ms" for name in ("ours", "numpy"))
    ratio = timings.ratio("ours", "numpy")
    return [_row("import, whole process", mine, "import numpy", theirs, ratio, 1.5)]


def hook() -> list[Row]:
    """The step with and without the tests for observers."""
    bare = unwatched.load(ours)
    contenders = {"ours": models.mlp(ours, 64, 32), "without the hook": models.mlp(bare, 64, 32)}
    timings = in_turn(contenders, 3 * ROUNDS)
    return _compared("MLP 4 x 64, batch 32, nobody observing", timings, {"without the hook": 1.02})


def _recorded(step: Step, profiler: Any) -> float:
    """Seconds per step of a recording, without what it takes to start and to stop it."""
    profiler.start()
    try:
        return run(step, 60)
    finally:
        profiler.stop()
        del profiler
        gc.collect()  # what one recording leaves is not to be paid for in the next


def recording() -> list[Row]:
    """A recorded step against one that nobody records, by each framework's own profiler."""
    profilers: dict[str, tuple[Any, Callable[..., Any]]] = {"ours": (ours, profile)}
    if torch is not None:
        cpu = [torch.profiler.ProfilerActivity.CPU]
        profilers["PyTorch"] = torch, partial(torch.profiler.profile, activities=cpu)
    rows = []
    for name, (module, make) in profilers.items():
        step = models.mlp(module, 64, 32)
        measures = {"nobody records": partial(run, step, 60)}
        for mode, (count, _) in _RECORDED.items():
            options = ("record_shapes", "with_stack", "profile_memory")[:count]
            on = partial(make, **dict.fromkeys(options, True))
            measures[mode] = lambda step=step, on=on: _recorded(step, on())
        timings = in_rounds(measures, 31)
        for mode, (_, bound) in _RECORDED.items():
            bounds = {"nobody records": bound if name == "ours" else inf}
            rows += _compared(f"MLP 4 x 64, recorded by {name}: {mode}", timings, bounds, mode)
    return rows


MEASURES = {
    f.__name__: f
    for f in (mlp, wide, cnn, transformer, recurrent, trimming, memory, imports, hook, recording)
}


def _table(header: str, rows: Iterable[Iterable[object]]) -> None:
    """Print a table of Markdown."""
    print(f"| {header} |\n{'|---' * (header.count('|') + 1)}|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def _shown(row: Row) -> list[object]:
    figures = [row[key] for key in ("what", "ours", "against", "theirs", "ratio")]
    if row["bound"] is None:
        return [*figures, "", ""]
    bound = f"{'at least ' if row['bound'] < 0 else ''}{abs(row['bound'])}"
    return [*figures, bound, "held" if row["held"] else "missed"]


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=[*MEASURES, "operators"], action="append")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--hips", help="the site-packages that has autograd, if not installed here")
    options = parser.parse_args()
    if options.hips:
        sys.path.append(options.hips)
    wanted = options.only or [*MEASURES, "operators"]
    others = f"PyTorch {torch.__version__}" if torch else "PyTorch left out: not installed"
    versions = f"Python {platform.python_version()}, numpy {models.np.__version__}, {others}"
    print(f"{versions}, one thread each")
    if "mlp" in wanted and importlib.util.find_spec("autograd") is None:
        print("HIPS autograd left out: not installed")
    print()
    rows = [row for name, measure in MEASURES.items() if name in wanted for row in measure()]
    if rows:
        header = " | ours | against | | ratio (nine tenths of the rounds) | bound | "
        _table(header, map(_shown, rows))
    calls = operators.measure(ours, torch) if "operators" in wanted else {}
    if calls:
        ways = list(dict.fromkeys(way for figures in calls.values() for way in figures))
        print()
        _table(
            f"µs per call, {operators.ROWS} x {operators.ROWS} | {' | '.join(ways)}",
            (
                [name, *(f"{figures[way]:.1f}" if way in figures else "" for way in ways)]
                for name, figures in calls.items()
            ),
        )
    if options.json:
        options.json.write_text(json.dumps({"measures": rows, "operators": calls}, indent=1))


if __name__ == "__main__":
    main()
