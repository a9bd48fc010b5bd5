"""Starts scripts that import much, again and again: does each end with the script's own status?

    python tests/run/starts.py --count 300 --seed 1
    python tests/run/starts.py --count 30 --seed 1 --python .venv/bin/python .other/bin/python

Each start is `tidy run --framework runtime` of a script that imports packages of thousands of
functions (matplotlib, scipy, pandas and others that are there, in an order of its own), computes
three products with `torch` and ends with a status of its own. A start fails when the process ends
by a signal or with another status. With `--python` the scripts run on these, which need the
packages.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("matplotlib", "scipy")
# Modules, since a package such as scipy has its functions in modules that it imports late.
MODULES = (
    "matplotlib.pyplot", "scipy.stats", "scipy.signal", "scipy.optimize", "pandas", "sympy",
    "networkx", "plotly", "IPython", "sklearn", "unittest.mock", "xml.dom.minidom", "asyncio",
)  # fmt: skip
_STATUSES = (0, 3)  # of the script
_TIME_LIMIT_S = 300
_SCRIPT = """\
import sys
{imports}
import torch
x = torch.ones(8, 8)
for _ in range(3):
    x = x @ x
sys.exit({status})
"""


def main() -> int:
    """The command line; 1 where a start failed, 2 where what it needs is not there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=300, help="starts on each Python")
    parser.add_argument("--seed", type=int, default=0, help="of what is imported in which order")
    parser.add_argument("--python", nargs="+", default=[sys.executable], metavar="PATH")
    given = parser.parse_args()
    modules = {python: _modules(python) for python in given.python}
    for python, there in modules.items():
        packages = {module.partition(".")[0] for module in there}
        if missing := ", ".join(name for name in NEEDED if name not in packages):
            sys.stdout.write(f"{python}: pip install {missing} there first\n")
            return 2
    failed = 0
    for python, there in modules.items():
        chance = random.Random(given.seed)  # noqa: S311 - of no secret
        failed += _starts(python, there, given.count, chance)
    count = given.count * len(modules)
    sys.stdout.write(f"{count - failed} of {count} starts ended as their scripts did\n")
    return int(failed > 0)


def _starts(python: str, there: list[str], count: int, chance: random.Random) -> int:
    """How many of these starts failed; each is named with its status and what it imported."""
    endings: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        for number in range(count):
            chosen = chance.sample(there, chance.randint(len(there) // 2, len(there)))
            status = chance.choice(_STATUSES)
            imports = "\n".join(f"import {module}" for module in chosen)
            script.write_text(_SCRIPT.format(imports=imports, status=status), "utf-8")
            ended = _run(python, script)
            if ended != str(status):
                endings[ended] += 1
                sys.stdout.write(
                    f"{python}: start {number} ended with {ended}, its script with {status};"
                    f" it imports {', '.join(chosen)}\n"
                )
                sys.stdout.flush()
    return endings.total()


def _run(python: str, script: Path) -> str:
    """The status of one start; 128 and the number of the signal where one ended the script."""
    command = [sys.executable, "-m", "tidy", "run", "--framework", "runtime", "--fail-on", "never"]
    try:
        ran = subprocess.run(
            [*command, "--python", python, str(script)],
            cwd=script.parent,
            env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {_TIME_LIMIT_S} s"
    return f"signal {-ran.returncode}" if ran.returncode < 0 else str(ran.returncode)


def _modules(python: str) -> list[str]:
    """Which of the modules that Python can import."""
    text = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try: importlib.import_module(name); print(name)\n"
        "    except ImportError: pass\n"
    )
    asked = subprocess.run(
        [python, "-c", text, *MODULES], capture_output=True, text=True, check=False
    )
    return asked.stdout.split()


if __name__ == "__main__":
    sys.exit(main())
