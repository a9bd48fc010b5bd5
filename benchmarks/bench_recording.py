"""What `tidy run` costs a script, in time and memory, and how true the shares are that it says.

    python benchmarks/bench_recording.py [SCRIPT]... [--python PATH]... [--framework torch]
                                         [--prefix "chrt -r 10"]

Each script of benchmarks/recording/ runs alone and under `tidy run`, in turns, with PyTorch and
with tidy.runtime. Those whose names begin with `pure_` do most of their work in pure Python. The
table is Markdown. "step x" and "light x" are how much longer a step takes when recorded in full and
lightly; "off" is by how many points the shares of fetches and of the optimizer in a step, as in the
trace, are off those that the script measures itself, unrecorded, at the most. Linux only: peaks of
memory are read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import tidy
from tidy.trace import EventKind, Intervals

HERE = Path(__file__).parent / "recording"
_NO_SCRIPTS = {"framework", "shares"}
SCRIPTS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in _NO_SCRIPTS)
_RANGES = {"fetch": "enumerate(DataLoader)#", "optimizer": "Optimizer.step#"}
_HEAD = (
    "script", "framework", "Python", "alone s", "tidy s", "more s", "step x", "light x", "off",
    "script MB", "more MB", "tidy MB",
)  # fmt: skip


Shares = dict[str, float]


@dataclass(frozen=True)
class Ran:
    """One run: its time, peaks of memory of the process and of the one below it, and its output."""

    seconds: float
    own_kb: int
    child_kb: int
    out: str


def run(command: Sequence[str], **more: str) -> Ran:
    """Run a command to its end. Raises RuntimeError where it fails."""
    start = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **more}
    process = subprocess.Popen(
        command, cwd=HERE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    peaks: dict[int, int] = {}
    while process.poll() is None:
        for pid in (process.pid, *_children(process.pid)):
            peaks[pid] = max(peaks.get(pid, 0), _peak_kb(pid))
        time.sleep(0.02)
    seconds = time.perf_counter() - start
    out = process.stdout.read() if process.stdout is not None else ""
    if process.returncode not in (0, 1):  # 1: something was found
        raise RuntimeError(f"{shlex.join(command)}: exit code {process.returncode}\n{out}")
    own = peaks.pop(process.pid, 0)
    return Ran(seconds, own, max(peaks.values(), default=0), out)


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
        return [int(each) for each in text.split()]
    return []


def _peak_kb(pid: int) -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 0


def compare(
    script: str, framework: str, python: str, prefix: Sequence[str], rounds: int
) -> list[str]:
    """One row of the table: medians of some rounds."""
    more = ["--runtime"] if framework == "runtime" else []
    path = str(HERE / f"{script}.py")
    alone, recorded, true, said = list[Ran](), list[Ran](), list[Shares](), list[Shares]()
    slower: dict[str, list[float]] = {"recording": [], "light": []}
    with tempfile.TemporaryDirectory() as folder:
        trace, shares = (f"{folder}/{name}.json" for name in ("trace", "shares"))
        tidy_run = [*prefix, python, "-m", "tidy", "run", "--trace", trace, path, *more]
        for _ in range(rounds):
            alone.append(run([*prefix, python, path, *more]))
            recorded.append(run(tidy_run))
            found = tidy.load(trace)
            said.append(_shares(found))
            for name, each in slower.items():
                if found.info.header.get(f"tidy_{name}_slowdown"):
                    each.append(found.info.header[f"tidy_{name}_slowdown"])
            with suppress(RuntimeError, OSError):
                run([*prefix, python, path, *more], SHARES=shares)
                true.append(json.loads(Path(shares).read_text("utf-8")))
    before = statistics.median(each.seconds for each in alone)
    after = statistics.median(each.seconds for each in recorded)
    script_kb = statistics.median(each.own_kb for each in alone)
    more_kb = statistics.median(each.child_kb for each in recorded) - script_kb
    tidy_kb = statistics.median(each.own_kb for each in recorded)
    step, light = (f"{statistics.median(e):.2f}" if e else "-" for e in slower.values())
    return [
        script, framework, _version(python), f"{before:.1f}", f"{after:.1f}",
        f"{after - before:.1f}", step, light, _off(said, true), f"{script_kb / 1024:.0f}",
        f"{more_kb / 1024:.0f}", f"{tidy_kb / 1024:.0f}",
    ]  # fmt: skip


def _shares(trace: tidy.Trace) -> Shares:
    """Of ranges in the steps of the window."""
    steps = [Intervals([step.start_ns], [step.end_ns]) for step in trace.window.steps]
    whole_ns = sum(step.total_ns for step in steps)
    shares = {}
    for part, prefix in _RANGES.items():
        rows = [e.row for e in trace.of_kind(EventKind.Annotation) if e.name.startswith(prefix)]
        inside_ns = sum((trace.time_of(rows) & step).total_ns for step in steps)
        shares[part] = inside_ns / max(whole_ns, 1)
    return shares


def _off(said: Sequence[Shares], true: Sequence[Shares]) -> str:
    if not true:
        return "-"
    medians = [
        {part: statistics.median(each[part] for each in some) for part in _RANGES}
        for some in (said, true)
    ]
    return f"{100 * max(abs(medians[0][part] - medians[1][part]) for part in _RANGES):.1f}"


def _version(python: str) -> str:
    command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _rows(given: argparse.Namespace) -> Iterator[list[str]]:
    for script in given.scripts or SCRIPTS:
        for framework in given.framework or ("torch", "runtime"):
            for python in given.python or [sys.executable]:
                prefix = shlex.split(given.prefix)
                try:
                    yield compare(script, framework, python, prefix, given.rounds)
                except RuntimeError as error:
                    sys.stderr.write(f"{error}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scripts", nargs="*", choices=[*SCRIPTS, []], metavar="SCRIPT")
    parser.add_argument("--python", action="append", help="an interpreter that has tidy")
    parser.add_argument("--framework", action="append", choices=("torch", "runtime"))
    parser.add_argument("--prefix", default="", help="goes before each command")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}", flush=True)
    for row in _rows(given):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
