"""Scripts that call a module twice on the same inputs, and scripts that only seem to.

Only `tidy run` knows what a module was called with, so all of them are recorded so.
"""

from __future__ import annotations

from .cases import Case
from .look_alikes import LookAlike

_TRAINING = """\
import copy
import random
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64))
        self.state = 0.0
{more}
    def forward(self, x):
        return {forward}

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
{before}
for step in range(32):
    x = torch.randn(256, 64)
    optimizer.zero_grad()
    {body}
"""


def _script(
    body: str, before: str = "kept = []", forward: str = "self.body(x)", more: str = ""
) -> str:
    """The script; `more` is what a net has beside its layers."""
    lines = body.strip().splitlines()
    return _TRAINING.format(body="\n    ".join(lines), before=before, forward=forward, more=more)


_TRAINS = """
out = model(x)
out.square().mean().backward()
"""
_TWICE = f"""{_TRAINS}
with torch.no_grad():
    again = model(x)
optimizer.step()
"""
_BEFORE = """
with torch.no_grad():
    kept[:] = [model(x).mean()]  #!
model(x).square().mean().backward()
optimizer.step()
"""
_DERIVATIVES = """
x, y = x.requires_grad_(), torch.ones(256, 64, requires_grad=True)
u = two(x, y)
u_x, = torch.autograd.grad(u.sum(), x, create_graph=True)
u_y, = torch.autograd.grad(two(x, y).sum(), y, create_graph=True)  #!
(u_x - u_y).square().mean().backward()
optimizer.step()
"""
_TWO = """
class Two(nn.Module):
    def forward(self, x, y):
        return model(x * y)

two = Two()
"""

CALL_CASES = [
    Case(
        "forward-again-to-log",
        "TDY708",
        _script(_TWICE.replace("again = model(x)", "again = model(x)  #!")),
        (("again = model(x)", "again = out"),),
    ),
    Case(
        "forward-before-training",
        "TDY708",
        _script(_BEFORE),
        (("model(x).mean()", "0"),),
    ),
    Case(
        "derivative-by-derivative",
        "TDY708",
        _script(_DERIVATIVES, _TWO),
        (("grad(two(x, y).sum()", "grad(u.sum()"), ("x, create_graph", "x, create_graph")),
    ),
    Case(
        "forward-after-the-step",
        "TDY708",
        _script(f"{_TRAINS}\noptimizer.step()\nkept[:] = [model(x).mean()]  #!"),
        (("model(x).mean()", "out.mean()"),),
    ),
]


def _alike(name: str, body: str, before: str = "kept = []", **net: str) -> LookAlike:
    return LookAlike("TDY708", name, _script(body, before, **net), {"nn.Module: Net_0": 8})


_SECOND = """
{}
with torch.no_grad():
    again = model({})
optimizer.step()
"""
_NUMPY = """
import numpy as np
array = np.ones(({}, 64), np.float32)
shared = torch.from_numpy(array)
"""
_WRITTEN_TO = _SECOND.format("model(shared).sum().backward()\narray += 1", "shared")
_COUNT = """
    def count(self):
        self.state = self.state + 1.0
        return self.state
"""

# Nothing in the module itself tells of it.
_OF_CLASS = """
    calls = 0
    def next(self):
        type(self).calls += 1
        return self.calls
"""
CALL_LOOK_ALIKES = [
    _alike("two-views", _TWICE.replace("again = model(x)", "again = model(x + 0.1)")),
    _alike(
        "micro-batches",
        """
for part in x.split(128):
    model(part).square().mean().backward()
model(x[:128]).square().mean().backward()
model(x[128:]).square().mean().backward()
optimizer.step()
""",
    ),
    _alike("inputs-written-to", _SECOND.format(f"{_TRAINS}x.mul_(0.5)", "x")),
    _alike("arrays-written-to", _WRITTEN_TO, _NUMPY.format(256)),
    _alike("large-arrays", _WRITTEN_TO, _NUMPY.format(20_000)),
    _alike(
        "weights-written-to",
        _SECOND.format(f"{_TRAINS}for p in model.parameters():\n    p.data.add_(0.1)", "x"),
    ),
    _alike(
        "weights-exchanged",
        _SECOND.format(
            f"{_TRAINS}for p in model.parameters():\n    p.data = p.data.clone() * 0.9", "x"
        ),
    ),
    _alike(
        "a-teacher",
        _TWICE.replace("again = model(x)", "again = mean(x)"),
        "mean = copy.deepcopy(model)",
    ),
    _alike(
        "dropout",
        _TWICE,
        more="        self.drop = nn.Dropout(0.1)",
        forward="self.drop(self.body(x))",
    ),
    _alike("noise", _TWICE, forward="self.body(x) + torch.randn(256, 64)"),
    _alike("noise-of-python", _TWICE, forward="self.body(x) * random.random()"),
    _alike(
        "noise-of-its-own",
        _TWICE,
        more="        self.noise = random.Random(0)",
        forward="self.body(x) * self.noise.random()",
    ),
    _alike("counted-by-its-class", _TWICE, more=_OF_CLASS, forward="self.body(x) * self.next()"),
    _alike(
        "batch-norm",
        _TWICE,
        more="        self.norm = nn.BatchNorm1d(64)",
        forward="self.body(self.norm(x))",
    ),
    _alike("a-state", _TWICE, more=_COUNT, forward="self.body(x) * self.count()"),
    _alike("evaluated", _TWICE.replace("with torch", "model.eval()\nwith torch") + "model.train()"),
    _alike(
        "checkpoint",
        """
checkpoint(model, x, use_reentrant=False).square().mean().backward()
optimizer.step()
""",
    ),
    _alike(
        "in-every-second-step",
        f"{_TRAINS}optimizer.step()\nif step % 2:\n    kept[:] = [model(x).mean()]",
    ),
    _alike(
        "trained-again-on-the-same-batch",
        f"{_TRAINS}optimizer.step()\noptimizer.zero_grad()\n{_TRAINS}optimizer.step()",
    ),
    _alike(
        "each-step-on-the-whole-table",
        "model(table).square().mean().backward()\noptimizer.step()",
        "table = torch.randn(256, 64)",
    ),
    _alike(
        "a-closure",
        """
def closure():
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    return loss

optimizer.step(closure)
""",
        "optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=3)",
    ),
]
