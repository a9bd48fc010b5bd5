"""Scripts that compile, and modules without memory: recorded they do what they do alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .running import record, write_script

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


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(_COMPILES, id="compiles"),
        pytest.param(_WITHOUT_MEMORY, id="without-memory"),
    ],
)
def test_it_ends_as_it_does_alone(script: str, tmp_path: Path) -> None:
    """Alone each prints that it is done; compiling takes seconds, and so that is not run."""
    recorded = record(write_script(tmp_path, script), cwd=tmp_path)
    assert (recorded.code in (0, 1), recorded.out.startswith("done\n\n")) == (True, True)
    assert "ended early" not in recorded.err
    assert len(recorded.trace.steps) >= 4


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


def test_nothing_of_a_recording_is_compiled(tmp_path: Path) -> None:
    """The compiler looks at as many frames as alone, also after breaks in which ours are called."""
    script = write_script(tmp_path, _COUNTS_FRAMES)
    alone = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    recorded = record(script, cwd=tmp_path)
    assert int(alone.stdout) == int(recorded.out.split()[0])
