"""What is long, random or about load; it decides nothing, and its last result is in docs/soak.md.

    python -m tests.soak                        everything, some hours; `make soak`
    python -m tests.soak --scale 0.1 fuzz kills some of it, a tenth as long

It needs what `.ci/run oracle` installs. Each part begins with a seed of its own, which is written
down, so that what failed can be run again. `.ci/run` has the deterministic core of each part.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "soak.md"
_TRACES = ROOT.parent / "shared" / "traces"
_HEAD = """\
# The last soak

<!-- Written by `make soak` (tests/soak.py). -->

What is long, random or about load is not part of `.ci/run`, which decides; `make soak` runs it, and
of cases that are much alike each. Each row is the last run of its part.

| part | what | commit | date | seed | Python | processors | result | minutes |
|---|---|---|---|---:|---|---:|---|---:|
"""


@dataclass(frozen=True)
class Part:
    """One part: what it does, its command, and how many cases it has at `--scale 1`."""

    what: str
    command: tuple[str, ...]
    count: int = 0
    loops: int = 0  # busy loops beside it
    settings: tuple[tuple[str, str], ...] = ()


_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
PARTS = {
    "fuzz": Part(
        "damaged copies of all traces, from the file to the report",
        (
            sys.executable, "tests/readers/fuzz.py", str(_TRACES),
            "--count", "{count}", "--seed", "{seed}", "--processes", "2",
        ),
        count=100_000,
    ),
    "kills": Part(
        "SIGKILL of tidy, the script or both at random moments",
        (*_PYTEST, "tests/run/test_killed_anywhen.py", "-m", "slow or oracle"),
        count=100,
        settings=(("TIDY_KILLS", "{count}"), ("TIDY_KILLS_SEED", "{seed}")),
    ),
    "measured": Part(
        "times of scripts, measured and predicted",
        (*_PYTEST, "-m", "alone", "-n", "0"),
    ),
    "steady": Part(
        "scripts again and again under changing load, each with one exit code and set of warnings",
        (sys.executable, "tests/run/steady.py", "--count", "{count}", "--seed", "{seed}"),
        count=10,
    ),
    "starts": Part(
        "scripts that import thousands of functions, each started anew and ended as it says",
        (sys.executable, "tests/run/starts.py", "--count", "{count}", "--seed", "{seed}"),
        count=300,
    ),
    "every": Part(
        "each case of the suites that .ci/run has the core of, and PyTorch with its compiler",
        (*_PYTEST, "-m", "(oracle or slow) and not alone"),
        settings=(("TIDY_SOAK", "1"),),
    ),
    "operators": Part(
        "PyTorch's database of operators, eight samples an entry",
        (sys.executable, "-m", "tests.oracle.op_db"),
    ),
    "shuffled": Part(
        "both suites in a random order",
        (*_PYTEST, "-m", "not alone", "--shuffle", "{seed}"),
    ),
    "loaded": Part(
        "both suites with two busy loops beside them",
        (*_PYTEST, "-m", "not alone"),
        loops=2,
    ),
}  # fmt: skip


def main() -> int:
    """The command line; 1 where a part failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all without any")
    parser.add_argument("--scale", type=float, default=1.0, help="times as many cases")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    options = parser.parse_args()
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    failed = False
    for name in options.parts or PARTS:
        row, code = _run(name, options.scale, options.seed)
        failed |= code != 0
        # What has run stands there also where the next part is interrupted.
        rows = {**_rows(), name: row}
        PAGE.write_text(_HEAD + "".join(rows[part] for part in PARTS if part in rows), "utf-8")
    return int(failed)


def _rows() -> dict[str, str]:
    """The rows that the page has, by their parts."""
    lines = PAGE.read_text("utf-8").splitlines(keepends=True) if PAGE.exists() else []
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}


def _commit() -> str:
    asked = [shutil.which("git") or "git", "log", "-1", "--format=%h"]
    return subprocess.run(
        asked, cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def _run(name: str, scale: float, seed: int) -> tuple[str, int]:
    """A row of the table, and the exit code."""
    part = PARTS[name]
    values = {"count": max(1, round(part.count * scale)), "seed": seed}
    command = [word.format(**values) for word in part.command]
    settings = {key: value.format(**values) for key, value in part.settings}
    begun, told = time.monotonic(), list[str]()
    with (
        _busy(part.loops),
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            told.append(line)
    minutes = (time.monotonic() - begun) / 60
    result = _result(told) or "no result"
    if process.returncode:
        result += f"; exit code {process.returncode}"
    cells = (
        name, part.what, _commit(), time.strftime("%Y-%m-%d", time.gmtime()), seed,
        sys.version.split()[0], os.cpu_count(), result, f"{minutes:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |\n", process.returncode


def _result(told: list[str]) -> str:
    """What a suite or a program says of itself in the end."""
    if summary := re.search(
        r"(\d+ (?:passed|failed)[^=\n]*?) in [\d.]+s", told[-1] if told else ""
    ):
        return summary[1]
    return ", ".join(" ".join(line.split()) for line in told[-4:] if re.match(r" *\d", line))


@contextmanager
def _busy(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main())
