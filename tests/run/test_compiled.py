"""Scripts that compile, and modules without memory: recorded they do what they do alone."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from ..environment import SOAK
from .running import Recorded, python, record, write_script

pytestmark = pytest.mark.oracle

# Each step has a compiled function that makes a module, one that gives a function, and a module: to
# load the compiler takes longer than all of them.
_COMPILES = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8)
    def forward(self, x):
        return self.body(x)
model, net = torch.nn.Linear(8, 8), Net()
parameters = [*model.parameters(), *net.parameters()]
optimizer = torch.optim.AdamW(parameters, lr=0.1)
@torch.compile(backend="eager", fullgraph=True)
def gives_a_submodule(x):
    return torch.nn.Sequential(model, torch.nn.ReLU())(x)
@torch.compile(backend="eager", fullgraph=True)
def gives_a_function(x):
    def scale(y, by=2):
        return y * by
    return model(x), scale
of_a_class = torch.compile(net, fullgraph=True, backend="aot_eager")
for _ in range(12):
    optimizer.zero_grad()
    loss = gives_a_submodule(torch.ones(16, 8)).sum() + of_a_class(torch.ones(4, 8)).sum()
    y, scale = gives_a_function(torch.ones(2, 8))
    (loss + scale(y).sum()).backward()
    optimizer.step()
print("done")
"""
# Between its calls a module has no memory behind its weights, as with sharded parameters.
_WITHOUT_MEMORY = """
import torch
class Shard(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.flat = torch.nn.Parameter(torch.ones(64 * 65))
        self.weight, self.bias = self.flat.data[:4096].view(64, 64), self.flat.data[4096:]
        self.shard = self.flat.data.clone()
        self.flat.untyped_storage().resize_(0)
    def forward(self, x):
        self.flat.untyped_storage().resize_(4 * 64 * 65)
        self.flat.data.copy_(self.shard)
        y = torch.nn.functional.linear(x, self.weight, self.bias)
        self.flat.untyped_storage().resize_(0)
        return y
shard, head = Shard(), torch.nn.Linear(64, 1)
optimizer = torch.optim.SGD(head.parameters(), 1e-4)
x = torch.ones(64, 64)
for _ in range(20):
    optimizer.zero_grad()
    one = shard(x)
    other = shard(x)
    (head(one).mean() + head(other).mean()).backward()
    optimizer.step()
print("done")
"""
_COUNTS_FRAMES = """
import torch
from torch._dynamo import utils

def f(x):
    y = x * 2
    torch._dynamo.graph_break()
    torch.set_num_threads(1)
    layer = torch.nn.Linear(3, 3)
    torch.optim.SGD(layer.parameters(), lr=0.1)
    return layer.half().float()(y).sum()

compiled = torch.compile(f, backend=lambda graph, _: graph.forward)
for _ in range(6):
    compiled(torch.ones(3))
print(utils.counters["frames"]["total"])
"""

# How many frames it looks at: another version is asked, and for `make soak` each one.
_FRAMES = {"2.13": 16}


def _ended(folder: Path, script: str) -> Recorded:
    """Alone each prints that it is done."""
    recorded = record(write_script(folder, script), cwd=folder)
    assert recorded.code in (0, 1)
    assert "ended early" not in recorded.err
    assert len(recorded.trace.steps) >= 4
    return recorded


def test_without_memory(tmp_path: Path) -> None:
    assert _ended(tmp_path, _WITHOUT_MEMORY).out.startswith("done\n\n")


def test_it_compiles_as_it_does_alone(tmp_path: Path) -> None:
    """Nothing of a recording is compiled: the compiler looks at as many frames as alone, also after
    breaks in which ours are called. What compiles after it ends as it does alone.
    """
    frames = None if SOAK else _FRAMES.get(version("torch").rpartition(".")[0])
    if frames is None:
        script = write_script(tmp_path, _COUNTS_FRAMES)
        frames = int(python(script, cwd=tmp_path).out)
    recorded = _ended(tmp_path, _COUNTS_FRAMES + _COMPILES)
    assert recorded.out.startswith(f"{frames}\ndone\n\n")
