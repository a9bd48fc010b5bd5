"""Runs scripts again and again while other work comes and goes: does each run say the same?

    python tests/run/steady.py --count 10 --seed 1
    python tests/run/steady.py --count 10 --seed 1 --framework torch mlp workers

Scripts of benchmarks/recording/ run `--count` times each under `tidy run`, on PyTorch and on
tidy.runtime. Beside it no, some or more busy loops run than there are processors, which changes
several times within a run. The same is one exit code and one set of warnings, each with its line.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2] / "benchmarks" / "recording"
# What bounds their steps differs: Python, data, products, small operators, worker processes.
SCRIPTS = ("evaluation", "mlp", "optimizers", "pure_dataset", "workers")
FRAMEWORKS = ("torch", "runtime")
_LONGEST_S, _SHORTEST_S = 3.0, 0.3  # until the load changes
_TIME_LIMIT_S = 600

# The exit code, and code and place of each warning or error.
Verdict = tuple[int, tuple[tuple[str, str], ...]]


def main() -> int:
    """The command line; 1 where runs of one script differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=", ".join(SCRIPTS))
    parser.add_argument("--framework", choices=FRAMEWORKS)
    parser.add_argument("--count", type=int, default=10, help="runs of each script")
    parser.add_argument("--seed", type=int, default=0, help="of the load")
    given = parser.parse_args()
    if unknown := set(given.scripts) - set(SCRIPTS):
        parser.error(f"no script {', '.join(sorted(unknown))}; there are {', '.join(SCRIPTS)}")
    chance, steady, count = random.Random(given.seed), 0, 0  # noqa: S311 - of no secret
    for framework in [given.framework] if given.framework else FRAMEWORKS:
        for script in given.scripts or SCRIPTS:
            found = Counter(_run(script, framework, chance) for _ in range(given.count))
            count += 1
            steady += len(found) == 1
            for (code, warnings), often in found.most_common():
                said = ", ".join(f"{rule} {place}" for rule, place in warnings) or "no warning"
                sys.stdout.write(f"{script}, {framework}: {often} times exit code {code}, {said}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{steady} of {count} scripts had one verdict in {given.count} runs each\n")
    return int(steady < count)


def _run(script: str, framework: str, chance: random.Random) -> Verdict:
    command = [sys.executable, "-m", "tidy", "run", "--format", "json", f"{script}.py"]
    with _load(random.Random(chance.random())):  # noqa: S311
        ran = subprocess.run(
            [*command, *(["--runtime"] if framework == "runtime" else [])],
            cwd=HERE,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TIME_LIMIT_S,
            check=False,
        )
    report: dict[str, Any] = json.loads(ran.stdout)
    found = [each for trace in report["traces"] for each in trace["findings"]]
    warnings = {(e["code"], _place(e)) for e in found if e["severity"] != "info"}
    return ran.returncode, tuple(sorted(warnings))


def _place(finding: dict[str, Any]) -> str:
    location = finding["location"] or {}
    return f"{location.get('file')}:{location.get('line')}"


@contextmanager
def _load(chance: random.Random) -> Iterator[None]:
    """Busy loops that come and go."""
    is_over = threading.Event()
    most = 2 * (os.cpu_count() or 1)

    def change() -> None:
        loops = list[subprocess.Popen[bytes]]()
        while True:
            wanted = chance.randint(0, most)
            while len(loops) < wanted:
                loops.append(subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]))
            end(loops[wanted:])
            del loops[wanted:]
            if is_over.wait(chance.uniform(_SHORTEST_S, _LONGEST_S)):
                break
        end(loops)

    def end(loops: list[subprocess.Popen[bytes]]) -> None:
        for loop in loops:
            loop.kill()
            loop.wait()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
