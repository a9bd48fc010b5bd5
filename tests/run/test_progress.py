"""A bar shows how far the pieces are put together, to a person alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..environment import environment
from .running import write_script

pytestmark = pytest.mark.slow  # each case starts processes

# Also for the few bytes of this recording.
_TIDY = """
import sys, tidy.progress, cli
tidy.progress._LARGE_NBYTES = 1
sys.argv = ["tidy", "run", *sys.argv[1:]]
cli.main()
"""
_SCRIPT = """
import time
import tidy.runtime as torch
optimizer = torch.optim.SGD(torch.nn.Linear(4, 4).parameters())
for _ in range(4):
    torch.ones(3).exp()
    time.sleep(0.15)
    optimizer.step()
"""


@pytest.mark.skipif(os.name == "nt", reason="terminals are POSIX's here")
@pytest.mark.parametrize("is_terminal", [True, False])
def test_it_shows_on_a_terminal(is_terminal: bool, tmp_path: Path) -> None:
    script = write_script(tmp_path, _SCRIPT)
    ours, theirs = os.openpty() if is_terminal else os.pipe()
    command = [sys.executable, "-c", _TIDY, str(script)]
    done = subprocess.run(
        command,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=300,
        check=False,
    )
    os.write(theirs, b".")
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    assert b"CPU run" in done.stdout
    assert "putting together" in said if is_terminal else said == "."
