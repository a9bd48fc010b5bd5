"""SIGKILL of tidy, of the script, or of both, at any moment: what is lost, said and left behind.

`TIDY_KILLS=100` tries a hundred moments, `TIDY_KILLS_SEED=7` others than without it.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tidy

from ..environment import environment
from .running import start, write_script

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's"),
]

# Each step is noted, with the time at which it ended. It goes on until the signal has been sent,
# however quick the machine is.
_TRAIN = """
import os, time
with open("pid", "w") as file:
    file.write(str(os.getpid()))
import {framework} as torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters())
with open("steps", "w", buffering=1) as file:
    while not os.path.exists("sent"):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        file.write(f"{{time.time()}}\\n")
        time.sleep(0.01)
"""
_FIRST = int(os.environ.get("TIDY_KILLS_SEED", "0"))
_SEEDS = range(_FIRST, _FIRST + int(os.environ.get("TIDY_KILLS", "2")))
# A second, and what the machine takes to write a piece, which is more where others use it.
_LOST_S = 1.5 if "TIDY_KILLS" in os.environ else 4


# The first kills the script, as test_runtime does, and the one with PyTorch.
@pytest.mark.parametrize("seed", _SEEDS if "TIDY_KILLS" in os.environ else _SEEDS[1:])
def test_killed(seed: int, tmp_path: Path) -> None:
    _kill("tidy.runtime", 5, seed, tmp_path)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", _SEEDS[::2])
def test_killed_with_pytorch(seed: int, tmp_path: Path) -> None:
    """To import it takes some seconds, in which there is nothing to lose."""
    _kill("torch", 9, seed, tmp_path)


def _kill(framework: str, seconds: float, seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)  # noqa: S311 - a moment
    who, after_s = chosen.choice(["tidy", "script", "both"]), chosen.uniform(0.1, seconds)
    script = write_script(tmp_path, _TRAIN.format(framework=framework))
    place = tmp_path / "tmp"
    place.mkdir()
    trace = tmp_path / "kept.json"
    given = ("--warmup", "0", "--steps", "9999", "--trace", trace, script)
    command = start(*given, cwd=tmp_path, TMPDIR=str(place))
    time.sleep(after_s)
    pid_file = tmp_path / "pid"
    pid = int(pid_file.read_text() or 0) if pid_file.exists() else 0
    if who != "script":
        command.kill()
    if who != "tidy" and pid:
        os.kill(pid, signal.SIGKILL)
    if who == "tidy":
        time.sleep(1)  # the script is ended, too
    (tmp_path / "sent").touch()
    out, err = command.communicate(timeout=300)
    assert "Traceback" not in out + err
    # PyTorch makes a folder of its own for what it compiles.
    left = [path for path in place.iterdir() if not path.name.startswith("torchinductor")]
    if who == "script":
        assert not left
        assert command.returncode == (128 + signal.SIGKILL if pid else command.returncode)
        if trace.exists():
            _is_nearly_all(tidy.load(trace), tmp_path)
        else:
            assert "tidy: " in err
        return
    assert len(left) <= 1  # none, where it was killed before it made one
    found = subprocess.run(
        [sys.executable, "-m", "tidy", "report", "--recover", "--fail-on", "never"],
        cwd=tmp_path,
        env=environment(TMPDIR=str(place)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in found.stderr
    assert found.returncode == 0 or found.stderr.startswith("tidy: ")
    count = re.search(r"CPU run, (\d+) steps of ", " ".join(found.stdout.split()))
    if count is not None:
        _is_late_enough(int(count[1]), tmp_path)


def _is_nearly_all(trace: tidy.Trace, folder: Path) -> None:
    trace.self_check()
    numbers = [step.number for step in trace.steps]
    assert numbers == list(range(len(numbers)))
    _is_late_enough(len(numbers), folder)


def _is_late_enough(recorded: int, folder: Path) -> None:
    """All but the steps of the last second are there; the first is not, where it was cut in two."""
    ends = [float(line) for line in (folder / "steps").read_text().split("\n")[:-1]]
    assert recorded <= len(ends) + 1
    if recorded < len(ends):
        assert ends[-1] - ends[max(recorded - 1, 0)] <= _LOST_S
