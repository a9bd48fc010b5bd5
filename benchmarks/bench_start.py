"""How long short commands take, in processor time: most of it is loading modules.

    python benchmarks/bench_start.py [--runs 10] [--before ../main] [--only report]

Each command is a process of its own, and the processes that it starts count. They take turns, so
that a machine whose speed drifts is the same to all. With `--before`, a checkout, each is run from
there, too. Compiled modules are kept, as where tidy is installed. Printed are medians of user and
system time, and ratios to `python -c pass`, or to the other checkout.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from runtime_timing import in_rounds

ROOT = Path(__file__).parents[1]
_NOTHING = "python -c pass"
_SCRIPT = """
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
"""


def processor_s(command: list[str], checkout: Path) -> float:
    """Return the processor time of a command with tidy from a checkout, in seconds."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command],
        env={**kept, "PYTHONPATH": str(checkout)},
        cwd=tempfile.gettempdir(),  # Python looks for modules there first
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,  # a file that is not there is an error
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands to measure, by name, with a script and a trace of it in `folder`."""
    script, of_pytorch, trace = folder / "runtime.py", folder / "pytorch.py", folder / "trace.json"
    script.write_text(f"import tidy.runtime as torch\n{_SCRIPT}")
    of_pytorch.write_text(f"import torch\n{_SCRIPT}")
    tidy, run = ["-m", "tidy"], ["-m", "tidy", "run", "--no-config"]
    processor_s([*run, "--trace", str(trace), str(script)], ROOT)
    if not trace.exists():
        sys.exit("tidy run has written no trace")
    commands = {
        _NOTHING: ["-c", "pass"],
        "import numpy": ["-c", "import numpy"],
        "import tidy": ["-c", "import tidy"],
        "tidy.load": ["-c", "import tidy; tidy.load"],
        "tidy.check": ["-c", "import tidy; tidy.check"],
        "tidy --version": [*tidy, "--version"],
        "tidy explain": [*tidy, "explain", "TDY404"],
        "tidy report": [*tidy, "report", str(trace)],
        "tidy report, no such file": [*tidy, "report", str(folder / "missing.json")],
        "tidy run, runtime": [*run, str(script)],
    }
    return commands | ({"tidy run, PyTorch": [*run, str(of_pytorch)]} if find_spec("torch") else {})


def print_table(taken: Mapping[tuple[str, Path], list[float]], before: Path | None) -> None:
    """Print a line for each command."""
    medians = {key: statistics.median(seconds) for key, seconds in taken.items()}
    for (name, checkout), seconds in medians.items():
        if checkout != ROOT:
            continue
        base = medians[_NOTHING, ROOT] if before is None else medians[name, before]
        of = _NOTHING if before is None else "before"
        print(f"{name:<26} {seconds:6.3f} s  {seconds / base:6.2f} of {of}")


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--only", help="commands with this in their name")
    options = parser.parse_args()
    before = None if options.before is None else options.before.resolve()
    with tempfile.TemporaryDirectory() as made:
        commands = {
            name: command
            for name, command in make_commands(Path(made)).items()
            if options.only is None or options.only in name or name == _NOTHING
        }
        measures = {
            (name, checkout): partial(processor_s, command, checkout)
            for name, command in commands.items()
            for checkout in ([] if before is None else [before]) + [ROOT]
        }
        print_table(in_rounds(measures, options.runs), before)


if __name__ == "__main__":
    main()
