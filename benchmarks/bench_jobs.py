"""What a second worker process gains: `tidy report --jobs 2` of one large file and of several.

    python benchmarks/bench_jobs.py trace.json [--rounds 5] [--load] [--mb 300] [--files 8]

It makes one file of --mb and several of a sixth of that out of the given trace, in a folder that
it removes. In each round three programs take turns on each of both, in another order each time:

- one: the command with `--jobs 1`;
- two: the command with `--jobs 2`;
- apart: two separate processes with `--jobs 1`, started together, which share the work: half of
  the files each, or of one file each all of it, which counts as two.

Printed are seconds by the clock, seconds of the processor of the command itself, and ratios of
each round: medians, and in brackets the lowest and the highest. Two is to be no slower than one,
and to have 0.85 of the rate of two separate processes. What else the machine does counts: the last
line says what two separate processes gain here, which is 2 on two processors that nobody uses.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from make_trace import make_trace

_END = "\nprint(time.process_time(), file=sys.stderr)"
_LOAD = "import sys, time, tidy; [tidy.load(each, jobs=int(sys.argv[1])) for each in sys.argv[2:]]"
_REPORT = """
import sys, time
from tidy.__main__ import main
sys.argv[1:1] = ["report", "--jobs"]
try:
    main()
except SystemExit as ended:
    if ended.code not in (0, 1):
        raise
"""
_LEAST_RATE = 0.85


class Taken(NamedTuple):
    """What programs side by side took: seconds by the clock, and of the processor for the last."""

    wall_s: float
    own_s: float


def run(code: str, jobs: int, shares: Sequence[Sequence[Path]]) -> Taken:
    """Run a program on each share of the files, all side by side.

    Raises:
        RuntimeError: one of them failed.
    """
    started = time.perf_counter()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code + _END, str(jobs), *map(str, share)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for share in shares
    ]
    own_s = 0.0
    for process in running:
        _, said = process.communicate()
        if process.returncode:
            raise RuntimeError(said)
        own_s = float(said.split()[-1])
    return Taken(time.perf_counter() - started, own_s)


def measure(name: str, files: list[Path], code: str, rounds: int) -> None:
    """Let the three programs take turns on these files, and print what they took."""
    programs = {
        "one": (1, [files]),
        "two": (2, [files]),
        "apart": (1, [files[::2], files[1::2]] if len(files) > 1 else [files, files]),
    }
    share_of_work = 1 if len(files) > 1 else 2
    order, taken = list(programs), {each: list[Taken]() for each in programs}
    for _ in range(rounds):
        for each in order:
            taken[each].append(run(code, *programs[each]))
        order = order[1:] + order[:1]
    print(f"{name}, {rounds} rounds")
    for each, label in (("one", "--jobs 1"), ("two", "--jobs 2"), ("apart", "two with --jobs 1")):
        walls, owns = zip(*taken[each], strict=True)
        print(f"  {label:<42} {_range(walls)} s, itself {_range(owns)} s of the processor")
    one, two, apart = ([each.wall_s for each in taken[name]] for name in ("one", "two", "apart"))
    apart = [wall_s / share_of_work for wall_s in apart]
    gain = [a / b for a, b in zip(one, two, strict=True)]
    rate = [a / b for a, b in zip(apart, two, strict=True)]
    own = [b.own_s / a.own_s for a, b in zip(taken["one"], taken["two"], strict=True)]
    possible = [a / b for a, b in zip(one, apart, strict=True)]
    print(f"  {'rate of --jobs 2 to --jobs 1':<42} {_range(gain)}{_held(gain, 1)}")
    print(
        f"  {'rate of --jobs 2 to two separate ones':<42} {_range(rate)}{_held(rate, _LEAST_RATE)}"
    )
    print(f"  {'processor of --jobs 2 itself to --jobs 1':<42} {_range(own)}")
    print(f"  {'rate of two separate ones to --jobs 1':<42} {_range(possible)}")


def _range(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _held(values: Sequence[float], least: float) -> str:
    return f", at least {least}: {'held' if statistics.median(values) >= least else 'missed'}"


def at_least_one(text: str) -> int:
    """Return a number of an option."""
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is less than 1")
    return count


def main() -> None:
    """Parse the command line, make the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="a trace, plain or in gzip")
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--load", action="store_true", help="reading alone, not whole reports")
    parser.add_argument("--mb", type=float, default=300, help="of the large file, in 10^6 bytes")
    parser.add_argument("--files", type=at_least_one, default=8, help="how many of a sixth of that")
    options = parser.parse_args()
    code, nbytes = _LOAD if options.load else _REPORT, round(options.mb * 1e6)
    with tempfile.TemporaryDirectory(prefix="tidy-") as folder:
        large = Path(folder, "large.json")
        several = [Path(folder, f"{number}.json") for number in range(options.files)]
        make_trace(options.source, large, nbytes)
        for number, each in enumerate(several):
            make_trace(options.source, each, nbytes // 6, first=1000 * number)
        for name, files in (("one file", [large]), (f"{len(several)} files", several)):
            size = sum(each.stat().st_size for each in files) / 1e6
            measure(f"{name}, {size:.0f} MB", files, code, options.rounds)


if __name__ == "__main__":
    main()
