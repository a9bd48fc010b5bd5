"""What a recording allocates and frees does not change what the script's own arrays take."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from .running import tidy_run, write_script

pytest.importorskip("tidy.profiler")
pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other allocators are left as they are"
)

_STEPS, _MOST_FAULTS = 90, 200
_SCRIPT = f"""
import resource
import numpy as np
import tidy.runtime as torch
parameter = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([parameter], lr=0.1)
faults = []
for step in range({_STEPS}):
    arrays = [np.full(3 << 20, step, np.int8) for _ in range(10)]
    del arrays
    parameter.grad = torch.ones(2)
    optimizer.step()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print((faults[-1] - faults[-11]) / 10, (faults[-30] - faults[-40]) / 10)
"""


def _faults(folder: Path, **changed: str) -> list[float]:
    """Page faults in a step after the recording, and in one that is timed unrecorded."""
    script = write_script(folder, _SCRIPT)
    done = tidy_run("--steps", "5", "--no-memory", script, cwd=folder, **changed)
    return [float(each) for each in done.out.split()[:2]]


def test_arrays_that_are_freed_are_not_given_back_and_taken_again(tmp_path: Path) -> None:
    assert max(_faults(tmp_path)) < _MOST_FAULTS


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    assert min(_faults(tmp_path, MALLOC_TRIM_THRESHOLD_=str(1 << 20))) > 10 * _MOST_FAULTS
