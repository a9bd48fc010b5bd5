"""Scripts in which Python computes with the numbers of tensors."""

from .cases import Case
from .look_alikes import LookAlike

_TRAINED = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(48, 48) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(64, 48)
for step in range(24):
    optimizer.zero_grad()
    out = model(inputs)
    out.square().mean().backward()
    {}
    optimizer.step()
"""
_NORM = "norm = sum(v * v for p in model.parameters() for v in p.grad.flatten().tolist())  #!"
_ROWS = "sums = [sum(row.tolist()) for row in out.detach()]  #!"

NUMBER_CASES = [
    Case(
        "norms-in-python",
        "TDY414",
        _TRAINED.format(_NORM),
        ((_NORM, "norm = sum(p.grad.square().sum() for p in model.parameters()).item()"),),
    ),
    Case(
        "rows-summed-in-python",
        "TDY414",
        _TRAINED.format(_ROWS),
        ((_ROWS, "sums = out.detach().sum(1).tolist()"),),
    ),
]

NUMBER_LOOK_ALIKES = [
    LookAlike(
        "TDY414",
        "a-function-of-numpy",
        _TRAINED.format("order = out.detach().numpy().argsort(1)"),
        {"aten::linear": 32},
    ),
    LookAlike(
        "TDY414",
        "few-numbers",
        _TRAINED.format("sums = sum(out.detach().sum(1)[:4].tolist())"),
        {"aten::resolve_neg": 8},
    ),
    LookAlike(
        "TDY414",
        "a-simulation-of-what-a-model-answers",
        _TRAINED.format("time.sleep(0.002 + 0 * sum(out[0].tolist()))").replace(
            "import torch\n", "import time\nimport torch\n", 1
        ),
        {"aten::resolve_neg": 8},
    ),
    LookAlike(
        "TDY414",
        "a-list-that-becomes-a-tensor",
        _TRAINED.format("other = torch.tensor([[v * v for v in row] for row in out.tolist()])"),
        {"aten::resolve_neg": 8, "aten::lift_fresh": 8},
    ),
]
