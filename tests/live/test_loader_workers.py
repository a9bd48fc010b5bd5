"""Loaders whose workers are too few, live, through the command: on the CPU and beside a device.

The items sleep, so that workers need no processor and a busy machine changes little.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidy as package
from tidy.trace.loader_workers import find_loader_workers

from ..cli.command import tidy
from ..environment import SOAK

pytestmark = pytest.mark.slow  # each case starts processes

_SCRIPT = """\
import time
import warnings
import torch
from torch.utils.data import DataLoader, Dataset

class Stored(Dataset):
    def __len__(self):
        return 4 * 40

    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.ones(4) * index

def train():
    warnings.simplefilter("ignore")  # of more workers than processors
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weight = torch.ones(4, 4, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for batch in DataLoader(Stored(), batch_size=4, num_workers={workers}{more}):
        (batch.to(device) @ weight).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep({step_s})

if __name__ == "__main__":
    train()
"""
_FETCHES = _SCRIPT.splitlines().index(next(x for x in _SCRIPT.splitlines() if "for b" in x)) + 1
_WAYS = [
    pytest.param(("--framework", "runtime"), id="runtime"),
    pytest.param(("--framework", "runtime", "--device", "t4"), id="modelled"),
    pytest.param(("--framework", "torch"), id="torch", marks=pytest.mark.oracle),
]
each_way = pytest.mark.parametrize("way", _WAYS)
# A kept trace is written and read alike, whatever recorded it.
one_way = each_way if SOAK else pytest.mark.parametrize("way", _WAYS[1:2])


def _found(report: str) -> list[dict[str, Any]]:
    (trace,) = json.loads(report)["traces"]
    return [each for each in trace["findings"] if each["code"] == "TDY102"]


def _run(way: tuple[str, ...], folder: Path, **form: object) -> list[dict[str, Any]]:
    if "torch" in way:
        pytest.importorskip("torch")
    (folder / "script.py").write_text(_SCRIPT.format(**{"more": "", **form}), "utf-8")
    options = ("--format", "json", "--trace", "trace.json.gz", *way)
    done = tidy("run", *options, "script.py", cwd=folder)
    assert done.err == ""
    return _found(done.out)


@each_way
def test_too_few(way: tuple[str, ...], tmp_path: Path) -> None:
    """A batch takes a worker 80 ms, and nearly nothing else takes any time."""
    (found,) = _run(way, tmp_path, workers=2, step_s=0)
    assert (found["location"]["file"], found["location"]["line"]) == ("script.py", _FETCHES)
    # This machine has too much else to do: the workers wait for a processor, or the script does.
    if "run less beside the training on this machine" in found["fix"]:
        assert found["severity"] == "info"
        return
    assert found["severity"] == "warning"
    assert "2 workers can make a batch every" in found["message"]
    assert int(found["fix"].removeprefix("num_workers=").partition(",")[0]) > 4
    assert found["saving"] is not None


@each_way
def test_enough(way: tuple[str, ...], tmp_path: Path) -> None:
    """Eight workers make a batch every 10 ms, and a step takes 50."""
    assert _run(way, tmp_path, workers=8, step_s=0.05) == []


@one_way
def test_the_kept_trace_says_the_same(way: tuple[str, ...], tmp_path: Path) -> None:
    live = _run(way, tmp_path, workers=1, step_s=0)
    done = tidy("report", "--format", "json", "trace.json.gz", cwd=tmp_path)
    assert _found(done.out) == live
    assert len(live) == 1


_CHILDREN = """\
import subprocess
import sys
import torch
from torch.utils.data import DataLoader, Dataset

COMPUTE = '''\\
import time
end = time.process_time() + 0.05
while time.process_time() < end:
    pass
'''
AGAIN = "import sys\\nfor line in sys.stdin:\\n    exec(sys.argv[1])\\n    print(flush=True)\\n"

class Computed(Dataset):
    child = None

    def __len__(self):
        return 24

    def __getitem__(self, index):
        if sys.argv[1] == "ended":
            subprocess.run([sys.executable, "-S", "-c", COMPUTE], check=True)
            return torch.ones(4)
        if self.child is None:
            command = [sys.executable, "-S", "-c", AGAIN, COMPUTE]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.child = subprocess.Popen(command, text=True, **pipes)
        print(file=self.child.stdin, flush=True)
        self.child.stdout.readline()
        return torch.ones(4)

def train():
    weight = torch.ones(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for batch in DataLoader(Computed(), batch_size=2, num_workers=1):
        (batch @ weight).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

if __name__ == "__main__":
    train()
"""


# Each on one framework, whose workers are counted alike; both on both for `make soak`.
@pytest.mark.parametrize(
    ("way", "child"),
    [
        pytest.param(*way.values, child, id=f"{child}-{way.id}", marks=way.marks)
        for way, own in ((_WAYS[0], "kept"), (_WAYS[2], "ended"))
        for child in ("ended", "kept")
        if SOAK or child == own
    ],
)
def test_what_child_processes_compute_is_counted(
    way: tuple[str, ...], child: str, tmp_path: Path
) -> None:
    """Each item takes a child 50 ms of a processor, and the worker hardly any."""
    if child == "kept" and not Path("/proc/thread-self/children").exists():
        pytest.skip("the system does not tell")
    if "torch" in way:
        pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(_CHILDREN, "utf-8")
    options = ("--format", "json", "--trace", "trace.json.gz", *way)
    tidy("run", *options, "script.py", child, cwd=tmp_path)
    (loader,) = find_loader_workers(package.load(tmp_path / "trace.json.gz")).loaders
    assert loader.beside_share * loader.batch_ns > 0.9 * 2 * 50e6
    assert loader.cpu_share * loader.batch_ns < 0.5 * 2 * 50e6


@pytest.mark.oracle
@pytest.mark.parametrize("method", ["spawn", "forkserver"] if SOAK else ["forkserver"])
def test_workers_of_pytorch_that_are_started_anew(method: str, tmp_path: Path) -> None:
    more = f", multiprocessing_context={method!r}"
    _run(("--framework", "torch"), tmp_path, workers=2, step_s=0, more=more)
    trace = package.load(tmp_path / "trace.json.gz")
    workers = {name.partition(":")[0] for name in trace.names if name.startswith("DataLoader ")}
    assert workers == {"DataLoader worker 0", "DataLoader worker 1"}


_EPOCHS = """\
import time
import torch
from torch.utils.data import DataLoader

def opened(worker):
    time.sleep(0.05)  # as a worker does that opens its files

def train():
    weight = torch.ones(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    {kept}
    for epoch in range(12):
        for batch in {loader}:
            (batch @ weight).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

if __name__ == "__main__":
    train()
"""
_LOADER = "DataLoader(torch.ones(12, 4), batch_size=4, num_workers=2, worker_init_fn=opened"


@pytest.mark.parametrize("way", [_WAYS[0], _WAYS[2]])
@pytest.mark.parametrize("is_kept", [False, True])
def test_epochs_that_start_their_workers(
    way: tuple[str, ...], is_kept: bool, tmp_path: Path
) -> None:
    """An epoch of three batches, which take next to no time."""
    if "torch" in way:
        pytest.importorskip("torch")
    kept = f"kept = {_LOADER}, persistent_workers=True)" if is_kept else ""
    text = _EPOCHS.format(kept=kept, loader="kept" if is_kept else f"{_LOADER})")
    (tmp_path / "script.py").write_text(text, "utf-8")
    done = tidy("run", "--format", "json", *way, "script.py", cwd=tmp_path)
    said = [each for each in _found(done.out) if "starts its workers anew" in each["message"]]
    assert len(said) == (not is_kept)
    for each in said:
        assert each["location"]["line"] == 1 + text.splitlines().index(
            f"        for batch in {_LOADER}):"
        )
        assert "persistent_workers=True" in each["fix"]
        # Three times in ten steps two processes are started; how long the rest takes is open.
        assert each["cost_ns"] > 0.3e6
