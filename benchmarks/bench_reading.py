"""Reading in worker processes against one process, two of them, and `json.load`.

    python benchmarks/bench_reading.py big.json [MORE.json ...] [--jobs 2] [--runs 5] [--report]

Each program is a new process, in turn, so that a machine whose speed drifts is the same to all.
Printed are medians over the runs, and the ratios of each run's neighbours:

- one job's time to `json.load`'s, of the processor;
- the rate with `--jobs` to that of as many separate processes side by side, each with one job and
  all files, and to one process alone;
- what the process itself takes of the processor beside its workers, to all that one job takes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_END = "; print(time.process_time(), file=sys.stderr)"
_JSON = "import json, sys, time; [json.load(open(path, encoding='utf-8')) for path in sys.argv[2:]]"
_READ = "import sys, time, tidy; [tidy.load(each, jobs=int(sys.argv[1])) for each in sys.argv[2:]]"
_REPORT = (
    "import sys, time; from tidy.cli import cli; "
    "cli.main(['report', '--jobs', *sys.argv[1:]], standalone_mode=False)"
)


class Taken(NamedTuple):
    """What a program took: wall seconds, its own seconds of the processor, peak in MiB."""

    wall: float
    own: float
    peak: float


def run(code: str, jobs: int, files: list[str], count: int = 1) -> Taken:
    """Run a program `count` times side by side: the wall time of all, the rest of the last.

    Raises:
        RuntimeError: one of them failed.
    """
    command = [sys.executable, "-c", code + _END, str(jobs), *files]
    started = time.perf_counter()
    running = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(count)
    ]
    own = peak = 0.0
    for process in running:
        assert process.stderr is not None
        said = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(said)
        own, peak = float(said.split()[-1]), usage.ru_maxrss / 1024
    return Taken(time.perf_counter() - started, own, peak)


def main() -> None:
    """Parse the command line, run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", help="plain traces; json.load reads the first")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="whole reports, not reading alone")
    options = parser.parse_args()
    code, files, jobs = _REPORT if options.report else _READ, options.files, options.jobs
    names = ("json.load of the first", "one job of the first", "one job", f"{jobs} jobs")
    rounds = [
        (
            run(_JSON, 1, files[:1]),
            run(code, 1, files[:1]),
            run(code, 1, files),
            run(code, jobs, files),
            run(code, 1, files, count=jobs),
        )
        for _ in range(options.runs)
    ]
    size = sum(Path(each).stat().st_size for each in files) / 1e6
    print(f"{len(files)} files, {size:.0f} MB, {options.runs} runs")
    for name, taken in zip(
        (*names, f"{jobs} with one job, side by side"), zip(*rounds, strict=True), strict=True
    ):
        wall, own, peak = map(statistics.median, zip(*taken, strict=True))
        print(f"{name:<32} {wall:7.2f} s  own {own:6.2f} s  {peak:6.0f} MiB")
    ratios = {
        "one job to json.load, processor": [first.own / text.own for text, first, *_ in rounds],
        "rate to separate processes": [apart.wall / jobs / many.wall for *_, many, apart in rounds],
        "rate to one job": [one.wall / many.wall for _, _, one, many, _ in rounds],
        "own part of what one job takes": [many.own / one.own for _, _, one, many, _ in rounds],
    }
    for name, values in ratios.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"{name:<32} {middle:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
