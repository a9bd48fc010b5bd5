"""One small script for each rule that needs no GPU, wrong and corrected, for both frameworks.

A script is written for PyTorch. The lines that are at fault end in `#!`: findings have to name
these lines and no others. The corrected form has every `#!` line, or what belongs to it, replaced.
"""

from typing import NamedTuple

from .graph_scripts import KEPT_GRAPH, NO_GRADIENTS, VALIDATED, VALIDATION


class Case(NamedTuple):
    name: str
    code: str  # of the rule
    wrong: str
    right: tuple[tuple[str, str], ...]  # (text of `wrong`, what stands there instead)
    options: tuple[str, ...] = ()  # of `tidy run`

    @property
    def corrected(self) -> str:
        """The script without its mistake."""
        text = self.wrong
        for old, new in self.right:
            assert old in text
            text = text.replace(old, new)
        return text.replace("  #!", "")

    def lines_at_fault(self) -> set[int]:
        lines = enumerate(self.wrong.splitlines(), 1)
        return {number for number, line in lines if line.endswith("#!")}


_LOADER = """\
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.ones(4) * index

def train():
    loader = DataLoader(Slow(), batch_size=4{workers})
    weight = torch.ones(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for batch in loader:  #!
        optimizer.zero_grad()
        (batch @ weight).sum().backward()
        optimizer.step()

if __name__ == "__main__":
    train()
"""

_FILL = """\
import torch

def fill(count):
    out = torch.zeros(count)
    for i in range(count):
        {body}
    return out

for _ in range(3):
    fill(40)
"""

_ANOMALY = """\
import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(3)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    with torch.autograd.set_detect_anomaly(True):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 8)).mean()  #!
        loss.backward()
        optimizer.step()
"""

_NESTED = """\
import torch

def grid(size):
    out = torch.zeros(size, size)
    for i in range(size):
        for j in range(size):
            out[i, j] = i * j  #!
    return out

grid(12)
"""

_READ = """\
import torch

def total(values):
    result = torch.zeros(())
    for i in range(len(values)):
        result = result + values[i]  #!
    return result

for _ in range(2):
    total(torch.ones(50))
"""

_TRAIN = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.{optimizer}
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)
for _ in range(4):
    {zero}
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    {step}
"""

_NORM = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = {layer}
        self.norm = {norm}

    def forward(self, x):
        x = self.first(x)  #!
        return self.norm(x).relu()

block = Block()
for _ in range(2):
    block(torch.randn({shape})).sum().backward()
"""

_FUNCTIONAL = """\
import torch
import torch.nn.functional as F

weight, bias = torch.randn(8, 3, 3, 3), torch.zeros(8)
mean, variance = torch.zeros(8), torch.ones(8)
for _ in range(2):
    out = F.conv2d(torch.randn(2, 3, 9, 9), weight, bias)  #!
    F.batch_norm(out, mean, variance, training=True)
"""

_GROWING = """\
import torch

def collect(count):
    out = torch.zeros(1, 4)
    for i in range(count):
        row = torch.ones(1, 4) * i
        out = torch.cat([out, row])  #!
    return out

for _ in range(3):
    collect(30)
"""

_HALF = """\
import torch

left, right = torch.ones(64, 63).half(), torch.ones(63, 64).half()
for _ in range(2):
    product = left @ right  #!
"""

# Something trained beside it, so that there are steps.
_EACH_STEP = """\
import torch
import torch.nn.functional as F

values = torch.randn(64, 512)
frozen = torch.randn(256, 512, dtype=torch.float64)
pairs = torch.randn(4, 64, 96)
weight = torch.ones(512, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
{before}
for _ in range(4):
    {body}
    optimizer.zero_grad()
    (weight * out.mean()).sum().backward()
    optimizer.step()
"""

_NAMED = """\
import torch

x = torch.ones(8)
for _ in range(2):
    y = x.exp()
    z = torch.cumsum(y, 0)  #!
"""


def each_step(body: str, before: str = "") -> str:
    return _EACH_STEP.format(body=body, before=before)


def _zero(optimizer: str, zero: str) -> str:
    return _TRAIN.format(optimizer=optimizer, zero=zero, step="optimizer.step()")


def _step(optimizer: str) -> str:
    return _TRAIN.format(
        optimizer=optimizer, zero="optimizer.zero_grad()", step="optimizer.step()  #!"
    )


_ONE_BY_ONE = (("foreach=False", "foreach=True"),)
_DROPPED = (("set_to_none=False", "set_to_none=True"),)

CASES = [
    Case(
        "loader",
        "TDY101",
        _LOADER.format(workers=""),
        (("batch_size=4", "batch_size=4, num_workers=2"),),
    ),
    Case(
        "fill",
        "TDY404",
        _FILL.format(body="out[i] = i  #!"),
        (
            ("    for i in range(count):\n", ""),
            ("        out[i] = i  #!", "    out[:] = torch.arange(count)"),
        ),
    ),
    Case(
        "fill-with-an-expression",
        "TDY404",
        _FILL.format(body="out[i] = out[i - 1] * 0.5 + 1  #!"),
        (
            ("    for i in range(count):\n", ""),
            (
                "        out[i] = out[i - 1] * 0.5 + 1  #!",
                "    out = torch.arange(count) * 0.5 + 1",
            ),
        ),
    ),
    Case(
        "grid",
        "TDY404",
        _NESTED,
        (
            ("    for i in range(size):\n        for j in range(size):\n", ""),
            (
                "            out[i, j] = i * j  #!",
                "    out = torch.outer(torch.arange(size), torch.arange(size))",
            ),
        ),
    ),
    Case(
        "read",
        "TDY404",
        _READ,
        (
            ("    for i in range(len(values)):\n", ""),
            ("        result = result + values[i]  #!", "    result = values.sum()"),
        ),
    ),
    *[
        Case(f"single-{kind}", "TDY601", _step(f"{call}, foreach=False)"), _ONE_BY_ONE)
        for kind, call in {
            "SGD": "SGD(model.parameters(), lr=0.1, momentum=0.9",
            "Adam": "Adam(model.parameters()",
            "AdamW": "AdamW(model.parameters()",
            "RMSprop": "RMSprop(model.parameters()",
            "Adagrad": "Adagrad(model.parameters()",
        }.items()
    ],
    Case(
        "zeroed",
        "TDY603",
        _zero("SGD(model.parameters(), lr=0.1)", "optimizer.zero_grad(set_to_none=False)  #!"),
        _DROPPED,
    ),
    Case(
        "zeroed-by-the-model",
        "TDY603",
        _zero("SGD(model.parameters(), lr=0.1)", "model.zero_grad(set_to_none=False)  #!"),
        _DROPPED,
    ),
    Case(
        "zeroed-foreach",
        "TDY603",
        _zero(
            "SGD(model.parameters(), lr=0.1, foreach=True)",
            "optimizer.zero_grad(set_to_none=False)  #!",
        ),
        _DROPPED,
    ),
    *[
        Case(
            f"bias-{layer.partition('(')[0]}",
            "TDY701",
            _NORM.format(layer=f"nn.{layer})", norm=f"nn.{norm}(8)", shape=shape),
            ((f"nn.{layer}", f"nn.{layer}, bias=False"),),
        )
        for layer, norm, shape in (
            ("Conv2d(3, 8, 3", "BatchNorm2d", "2, 3, 9, 9"),
            ("Conv1d(3, 8, 3", "BatchNorm1d", "2, 3, 9"),
            ("Linear(3, 8", "BatchNorm1d", "5, 3"),
        )
    ],
    Case("bias-functional", "TDY701", _FUNCTIONAL, (("weight, bias)", "weight)"),)),
    Case(
        "growing",
        "TDY408",
        _GROWING,
        (
            ("out = torch.zeros(1, 4)", "rows = [torch.zeros(1, 4)]"),
            ("out = torch.cat([out, row])", "rows.append(row)"),
            ("return out", "return torch.cat(rows)"),
        ),
    ),
    Case("anomaly", "TDY009", _ANOMALY, (("anomaly(True)", "anomaly(False)"),)),
    Case("half", "TDY503", _HALF, (("64, 63", "64, 64"), ("63, 64", "64, 64"))),
    Case(
        "cast-and-back",
        "TDY203",
        each_step("out = torch.tanh(values).double().float()  #!"),
        ((".double().float()", ""),),
    ),
    Case(
        "frozen-weight",
        "TDY203",
        each_step("out = F.linear(values, frozen.float())  #!"),
        (
            ("\nfor _ in", "frozen = frozen.float()\nfor _ in"),
            ("frozen.float())  #!", "frozen)"),
        ),
    ),
    Case(
        "transposed-copy",
        "TDY204",
        each_step("out = torch.bmm(pairs, pairs.transpose(1, 2).contiguous())  #!"),
        ((".contiguous()", ""),),
    ),
    Case(
        "collected",
        "TDY405",
        each_step("out = values\n    gc.collect()  #!", "import gc"),
        (("\n    gc.collect()  #!", ""),),
    ),
    Case(
        "validation",
        "TDY702",
        VALIDATION,
        (("score = model(inputs).sum().detach().item()", NO_GRADIENTS),),
    ),
    Case(
        "validation-in-each-step",
        "TDY702",
        VALIDATED,
        (("score += model(inputs).sum().item()", "with torch.no_grad(): score += 1"),),
    ),
    Case(
        "kept-graph",
        "TDY804",
        KEPT_GRAPH,
        (("total = total + loss  #!", "total = total + loss.item()"), ("retain_graph=True", "")),
    ),
    Case(
        "named",
        "TDY000",
        _NAMED,
        (("torch.cumsum(y, 0)", "y + 1"),),
        ("--name", "aten::cumsum"),
    ),
]
