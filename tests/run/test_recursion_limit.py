"""Scripts that stand at the limit of recursion, where nothing of the recorder can be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..environment import SOAK
from .running import record, write_script

_SCRIPT = """
import gc
import {module} as torch
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight])
def room(calls):
    try:
        return room(calls + 1)
    except RecursionError:
        return calls
def stay(calls):
    kept, i = [], 0
    while calls < 3 and i < 60_000:  # longer than a piece, and the collector runs
        kept += [[]]
        i += 1
    return stay(calls - 1) if calls else len(kept)
for _ in range(6):
    for more in (-{left}, 5):
        try:
            stay(room(0) + more)
        except RecursionError:
            pass
    gc.collect()
    weight.sum().backward()
    optimizer.step()
print("done")
"""


def _is_recorded(script: Path) -> None:
    found = record("--steps", "5", "--warmup", "1", script, cwd=script.parent)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("done\n\n")
    trace = found.trace
    assert len(trace.steps) == 5
    assert len(trace.named("<built-in function collect>")) == 6


@pytest.mark.parametrize("left", [0, 2, 20, 150, 250] if SOAK else [0, 250])
def test_is_recorded(left: int, tmp_path: Path) -> None:
    _is_recorded(write_script(tmp_path, _SCRIPT.format(module="tidy.runtime", left=left)))


@pytest.mark.oracle
@pytest.mark.parametrize("left", [0, 3, 200] if SOAK else [3])
def test_is_recorded_with_pytorch(left: int, tmp_path: Path) -> None:
    _is_recorded(write_script(tmp_path, _SCRIPT.format(module="torch", left=left)))


_BEGUN_DEEP = """
import threading
def use():
    global torch
    import tidy.runtime as torch
def import_below(calls):
    if calls:
        return import_below(calls - 1)
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
import_below(600)
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight])
for _ in range(20_000):
    time = sum(range(100_000))
    weight.sum().backward()
    optimizer.step()
"""


def test_a_recording_begins_once_the_main_thread_has_come_up(tmp_path: Path) -> None:
    """It was too deep in calls for one of ours when another thread had imported the framework."""
    script = write_script(tmp_path, _BEGUN_DEEP)
    found = record("--steps", "5", "--stop-after", script, cwd=tmp_path)
    assert (found.code, found.err) == (0, "")
    assert len(found.trace.steps) == 5
