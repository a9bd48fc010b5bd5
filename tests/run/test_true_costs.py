"""Shares in a trace of `tidy run`, against those that a script measures itself, unrecorded."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from tidy import Trace
from tidy.trace.kinds import EventKind

from .running import python, record, write_script

pytestmark = pytest.mark.slow

_SCRIPT = """
import json, sys
from time import perf_counter_ns as now
import torch
from torch.utils.data import DataLoader, Dataset
from torch import nn

class Data(Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        total = 0.0
        for i in range(60):
            total += index * i % 7 / 3
        return torch.tensor([total] * 16), torch.tensor(index % 4)

layers = []
for _ in range(6):
    layers += [nn.Linear(16, 16), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(16, 4))
batches = iter(DataLoader(Data(), batch_size=16))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=False)
parts = []
for _ in range(120):
    start = now()
    x, y = next(batches)
    loaded = now()
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    stepping = now()
    optimizer.step()
    end = now()
    parts.append((loaded - start, end - stepping, end - start))
usual = sorted(parts[20:], key=lambda each: each[2])[:80]
whole = sum(each[2] for each in usual)
print(json.dumps([sum(each[i] for each in usual) / whole for i in range(2)]))
"""


@pytest.mark.alone
@pytest.mark.parametrize("framework", ["runtime", pytest.param("torch", marks=pytest.mark.oracle)])
def test_shares_are_those_of_the_undisturbed_script(framework: str, tmp_path: Path) -> None:
    how = ["--framework", framework]
    script = write_script(tmp_path, _SCRIPT)
    plain = _SCRIPT
    if framework == "runtime":
        for name in ("torch.utils.data", "torch"):
            plain = plain.replace(f"from {name} import", f"from tidy.runtime{name[5:]} import")
        plain = plain.replace("import torch\n", "import tidy.runtime as torch\n")
    undisturbed = write_script(tmp_path, plain, "undisturbed.py")
    ranges = ("enumerate(DataLoader)#", "Optimizer.step#")
    reported, expected = [], []
    for _ in range(3):  # what else the machine does changes either run: medians are compared
        found = record(*how, script, cwd=tmp_path, OMP_NUM_THREADS="1")
        reported.append([_share(found.trace, name) for name in ranges])
        expected.append(json.loads(python(undisturbed, cwd=tmp_path, OMP_NUM_THREADS="1").out))
    medians = [
        [statistics.median(each) for each in zip(*rows, strict=True)]
        for rows in (reported, expected)
    ]
    assert medians[0] == pytest.approx(medians[1], abs=0.05), (reported, expected)


_LONG_STEPS = """
import torch
weight = torch.full((2048, 2048), 0.01, device="cuda", dtype=torch.float64, requires_grad=True)
inputs = torch.randn(1024, 2048, device="cuda", dtype=torch.float64)
optimizer = torch.optim.SGD([weight], lr=1e-3, fused=True)
for _ in range(12):
    optimizer.zero_grad()
    loss = (inputs @ weight).mean()
    loss.backward()
    optimizer.step()
    loss.item()
"""


def test_a_cut_takes_nothing_from_a_step(tmp_path: Path) -> None:
    """What a modelled device computes takes numpy so long that nearly each step is a piece.

    A step then ends while the device is still busy, and the script waits for it at the beginning
    of the next one. No step can be shorter than the device needs for it.
    """
    script = write_script(tmp_path, _LONG_STEPS)
    how = ["--framework", "runtime", "--device", "l4", "--warmup", "1", "--steps", "3"]
    trace = record(*how, script, cwd=tmp_path, OMP_NUM_THREADS="1").trace
    products = [
        event.duration_ns for event in trace.of_kind(EventKind.Kernel) if "gemm" in event.name
    ]
    lengths = [end - start for start, end in trace.window.step_ranges]
    assert len(lengths) == 3
    # Forward and backward; on a busy machine each part of a step is scaled its own way.
    assert statistics.median(lengths) >= 1.7 * statistics.median(products)


def _share(trace: Trace, prefix: str) -> float:
    steps = trace.window.steps
    inside = sum(
        max(min(step.end_ns, event.end_ns) - max(step.start_ns, event.start_ns), 0)
        for event in trace.of_kind(EventKind.Annotation)
        if event.name.startswith(prefix)
        for step in steps
    )
    return inside / sum(step.duration_ns for step in steps)
