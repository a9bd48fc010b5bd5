"""Processes that a recorded script forks or spawns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .running import python, tidy_run, write_script

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="counts the threads in /proc"
)
# What is registered first is called last before the fork. `logging` registers functions of Python
# for after it.
_FORKS = """
import os, time
def count(): return len(os.listdir("/proc/self/task"))
meanwhile, between = [], []
os.register_at_fork(before=lambda: meanwhile.append(count()))
import {framework} as torch
import logging
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def step():
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
{before}
threads = count()
for _ in range(8):
    step()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.1)
    between.append(count() - threads)
print([each - threads for each in meanwhile], max(between))
"""


def _counts(framework: str, before: str, folder: Path) -> tuple[str, str]:
    script = write_script(folder, _FORKS.format(framework=framework, before=before))
    expected = python(script, cwd=folder)
    found = tidy_run("--steps", "50", script, cwd=folder)
    assert found.err == expected.err
    return expected.out.strip(), found.out.partition("\n")[0]


def test_threads_of_a_recording(tmp_path: Path) -> None:
    """The recorder's thread is counted between forks, and not when one begins."""
    alone, recorded = _counts("tidy.runtime", "", tmp_path)
    assert alone == f"{[0] * 8} 0"
    assert recorded == f"{[-1] * 8} 0"


@pytest.mark.oracle
def test_threads_of_a_recording_of_pytorch(tmp_path: Path) -> None:
    """PyTorch's profiler has a thread as well, which stays."""
    pytest.importorskip("torch")
    alone, recorded = _counts("torch", "torch.set_num_threads(1)\nstep()", tmp_path)
    assert alone == f"{[0] * 8} 0"
    assert recorded == f"{[-1] * 8} 0"


_SPAWNS = """
import multiprocessing
import torch

def total(queue, sent):
    queue.put(float(torch.ones(3).sum()) + len(sent))

if __name__ == "__main__":
    for start in ("spawn", "forkserver"):
        context = multiprocessing.get_context(start)
        queue = context.Queue()
        # More than a pipe holds: who sends it waits until the process reads.
        process = context.Process(target=total, args=(queue, b"x" * 1_000_000))
        process.start()
        print(start, queue.get(timeout=100), flush=True)
        process.join()
        print(process.exitcode)
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
"""


def test_spawned_processes_have_the_runtime(tmp_path: Path) -> None:
    script = write_script(tmp_path, _SPAWNS)
    found = tidy_run("--framework", "runtime", "--fail-on", "never", script, cwd=tmp_path)
    lines = found.out.splitlines()[:4]
    assert lines == ["spawn 1000003.0", "0", "forkserver 1000003.0", "0"]
    assert (found.code, found.err) == (0, "")


_WORKER = """
import sys
import tidy.runtime as torch
from tidy.runtime.utils.data import DataLoader

class Items:
    def __len__(self):
        return 32

    def __getitem__(self, index):
        returns = sys.monitoring.events.PY_RETURN
        tools = [each for each in range(6) if sys.monitoring.get_tool(each)]
        assert not any(sys.monitoring.get_events(each) & returns for each in tools)
        return torch.ones(4)

net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train():
    for batch in DataLoader(Items(), batch_size=4, num_workers=1, multiprocessing_context="fork"):
        net(batch).sum().backward()
        optimizer.step()
train()
print("done")
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_functions_of_a_forked_worker_are_not_recorded(tmp_path: Path) -> None:
    """Each call of them would take microseconds, and nobody has what is noted there."""
    found = tidy_run(write_script(tmp_path, _WORKER), cwd=tmp_path)
    assert (found.out.partition("\n")[0], found.err) == ("done", "")
