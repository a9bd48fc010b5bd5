"""`tidy report` against `json.load` and HTA's parser, as whole processes.

    python benchmarks/bench_report.py big.json [--runs 5] [--hta-python .hta/bin/python]

Every program is started anew for each run, in turn, so that a machine whose speed drifts is the
same to all. Printed are medians of wall time and of peak memory, and the ratios to `json.load`.
HTA is measured where a Python that has HolisticTraceAnalysis 0.5.0 is named.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from runtime_timing import in_rounds

_JSON = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
_HTA = (
    "import sys; from hta.common.trace_parser import parse_trace_dataframe as parse; "
    "from hta.configs.parser_config import ParserConfig; "
    "parse(sys.argv[1], ParserConfig.get_default_cfg())"
)


def run_once(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MiB of one process; its output goes into a pipe and is dropped.

    Raises:
        RuntimeError: the process failed (`tidy report` may end with 1: findings).
    """
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    while process.stdout.read(1 << 16):
        pass
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"exit status {process.returncode}: {' '.join(command)}")
    return wall, usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trace", type=Path, help="plain JSON (json.load reads no gzip)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--hta-python", help="interpreter with HolisticTraceAnalysis")
    options = parser.parse_args()
    commands = {
        "json.load": [sys.executable, "-c", _JSON],
        "tidy report": [sys.executable, "-m", "tidy", "report"],
    }
    if options.hta_python:
        commands["HTA parser"] = [options.hta_python, "-c", _HTA]
    trace = str(options.trace)
    runs = in_rounds(
        {name: partial(run_once, [*command, trace]) for name, command in commands.items()},
        options.runs,
    )
    print(f"{trace}: {options.trace.stat().st_size / 1e6:.0f} MB, {options.runs} runs")
    medians = {name: [*map(statistics.median, zip(*runs[name], strict=True))] for name in runs}
    base = medians["json.load"]
    for name, (wall, peak) in medians.items():
        print(
            f"{name:<12} {wall:7.2f} s  {peak:7.0f} MiB   of json.load: "
            f"time {wall / base[0]:.2f}, memory {peak / base[1]:.2f}"
        )


if __name__ == "__main__":
    main()
