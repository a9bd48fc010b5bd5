"""Scripts for the rules about where a batch comes from: a mistake, and what only looks like one."""

from .cases import Case, each_step
from .look_alikes import LookAlike

_BATCHES = """\
import torch
import numpy as np

text = torch.arange(5000) % 50
array = text.numpy().astype(np.uint16)
block = 8

def get_batch():
    ix = torch.randint(len(array) - block - 1, (24,))
    x = torch.stack([torch.from_numpy((array[i:i+block]).astype(np.int64)) for i in ix])  #!
    y = torch.stack([text[i+1:i+1+block] for i in ix])  #!
    return x, y

weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for _ in range(4):
    x, y = get_batch()
    optimizer.zero_grad()
    (x * weight - y).square().mean().backward()
    optimizer.step()
"""
_OFFSETS = "(ix[:, None] + torch.arange(block)).numpy()"


_FLIPS = """\
import random
import torch

random.seed(0)

def augment(batch):
    outs = []
    for i in range(len(batch)):
        image = batch[i : i + 1]  #!
        if random.random() < 0.5:
            image = image.flip(-1)
        outs.append((image - 0.5) / 0.25)
    return torch.cat(outs)

for _ in range(3):
    augment(torch.ones(32, 3, 8, 8))
"""
_FLIPPED = """    flips = torch.rand(len(batch), 1, 1, 1) < 0.5
    return (torch.where(flips, batch.flip(-1), batch) - 0.5) / 0.25
"""

_EACH_PICTURE = """\
    outs = []
    for picture in batch:  #!
        outs.append(convolved(picture).relu())
    torch.stack(outs)
"""
_PICTURES = (
    """\
import torch
from torch import nn

batch = torch.ones(16, 3, 8, 8)
convolved = nn.Conv2d(3, 4, 3)
for _ in range(3):
"""
    + _EACH_PICTURE
)

_PER_SAMPLE = """\
import torch

def scaled(batch):
    outs = []
    for i in range(len(batch)):
        outs.append(batch[i : i + 1].tanh() * 2)  #!
    return torch.cat(outs)

for _ in range(3):
    scaled(torch.ones(32, 8))
"""

_LISTS = "lists = [[float(i + j) for j in range(8)] for i in range(64)]"
_ARRAYS = "\nimport numpy\narrays = [numpy.arange(8.0) + i for i in range(32)]"
_STACKED_ARRAYS = "torch.from_numpy(numpy.stack(arrays))"

_KEPT_STATES = """\
import copy
import io

import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
kept = [torch.empty_like(each) for each in model.parameters()]
settings = dict(layers=[64] * 4)
for step in range(9):
    optimizer.zero_grad()
    model(torch.ones(64, 64)).square().mean().backward()
    optimizer.step()
    {}  #!
"""
_SAVED, _DEEP_COPIED = "torch.save(model.state_dict(), io.BytesIO())", "best = copy.deepcopy(model)"

_UNTIL_THEN = _KEPT_STATES.replace("  #!", "")

INPUT_CASES = [
    Case(
        "a-checkpoint-in-each-step",
        "TDY413",
        _KEPT_STATES.format(_SAVED),
        ((_SAVED, f"{_SAVED} if step % 4 == 3 else None"),),
    ),
    Case(
        "a-copy-in-each-step",
        "TDY413",
        _KEPT_STATES.format(_DEEP_COPIED),
        ((_DEEP_COPIED, f"{_DEEP_COPIED} if step % 4 == 3 else None"),),
    ),
    Case(
        "lists",
        "TDY107",
        each_step("out = torch.stack([torch.tensor(each) for each in lists])  #!", _LISTS),
        (("torch.stack([torch.tensor(each) for each in lists])", "torch.tensor(lists)"),),
    ),
    Case(
        "arrays-one-by-one",
        "TDY107",
        each_step("out = torch.stack([torch.tensor(each) for each in arrays])  #!", _ARRAYS),
        (("torch.stack([torch.tensor(each) for each in arrays])", _STACKED_ARRAYS),),
    ),
    Case(
        "there-and-back",
        "TDY409",
        each_step("out = torch.tensor([row[::-1] for row in values.tolist()])  #!"),
        (("torch.tensor([row[::-1] for row in values.tolist()])", "values.flip(1)"),),
    ),
    Case(
        "per-sample",
        "TDY406",
        _PER_SAMPLE,
        (
            ("    for i in range(len(batch)):\n", ""),
            (
                "        outs.append(batch[i : i + 1].tanh() * 2)",
                "    outs.append(batch.tanh() * 2)",
            ),
        ),
    ),
    Case(
        "pictures",
        "TDY406",
        _PICTURES,
        ((_EACH_PICTURE, "    convolved(batch).relu()\n"),),
    ),
    Case(
        "per-sample-with-a-branch",
        "TDY406",
        _FLIPS,
        ((_FLIPS[_FLIPS.index("    outs = []") : _FLIPS.index("\nfor _ in")], _FLIPPED),),
    ),
    Case(
        "rows-that-are-joined",
        "TDY106",
        each_step(
            "out = torch.cat([values[i].unsqueeze(0) for i in order])  #!",
            "order = torch.randperm(32).tolist()\nvalues = torch.ones(32, 8)",
        ),
        (("torch.cat([values[i].unsqueeze(0) for i in order])", "values[order]"),),
    ),
    Case(
        "batches",
        "TDY106",
        _BATCHES,
        (
            (
                "torch.stack([torch.from_numpy((array[i:i+block]).astype(np.int64)) for i in ix])",
                f"torch.from_numpy(array[{_OFFSETS}].astype(np.int64))",
            ),
            (
                "torch.stack([text[i+1:i+1+block] for i in ix])",
                "text[ix[:, None] + 1 + torch.arange(block)]",
            ),
        ),
    ),
]

_SCRIPT = """\
import time
import torch
from torch.utils.data import DataLoader

rows = torch.randn(40, 8)
weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
{before}
def step(batch):
    optimizer.zero_grad()
    (batch * weight).square().mean().backward()
    optimizer.step()

{loop}
"""
_LOOP = "for _ in range(4):\n    step({})"


def _joined(name: str, items: str, more: str = "") -> LookAlike:
    loop = _LOOP.format(f"torch.cat([{items}]{more})" + ("[:8].t()" if more else ""))
    return LookAlike("TDY106", name, _SCRIPT.format(before="", loop=loop), {"aten::cat": 4})


def _stacked(name: str, items: str, before: str = "") -> LookAlike:
    loop = _LOOP.format(f"torch.stack([{items}])")
    return LookAlike("TDY106", name, _SCRIPT.format(before=before, loop=loop), {"aten::stack": 4})


INPUT_LOOK_ALIKES = [
    LookAlike(
        "TDY413",
        "every-fourth-step",
        _UNTIL_THEN.format(f"{_SAVED} if step % 4 == 3 else None"),
        {"*(*): save": 2},
    ),
    LookAlike(
        "TDY413",
        "into-tensors-that-are-kept",
        _UNTIL_THEN.format("[a.copy_(b.detach()) for a, b in zip(kept, model.parameters())]"),
        {"aten::copy_": 72},
    ),
    LookAlike(
        "TDY413",
        "a-copy-of-settings",
        _UNTIL_THEN.format("now = copy.deepcopy(settings)"),
        {"Optimizer.step#SGD.step": 9},
    ),
    _stacked("each-item-is-computed", "x * 0.5 for x in rows"),
    _stacked(
        "the-first-row-of-each-of-many",
        "each[0] for each in layers",
        "layers = [torch.randn(3, 8) for _ in range(12)]",
    ),
    _stacked(
        "another-part-of-each-of-many",
        "x[i % 9, i % 4 : i % 4 + 8] for i, x in enumerate(images)",
        "images = [torch.randn(9, 16) for _ in range(12)]",
    ),
    _stacked(
        "items-that-are-read-from-elsewhere",
        "read(i) for i in torch.arange(12)",
        "def read(i):\n    time.sleep(0.001)\n    return torch.from_numpy(rows.numpy()[i])\n",
    ),
    _joined("joined-side-by-side", "rows[i : i + 8] for i in range(0, 32, 3)", ", 1"),
    _joined("joined-in-several-sizes", "rows[i : 2 * i] for i in range(1, 12)"),
    _joined("joined-and-computed", "rows[i : i + 2] * 2 for i in range(12)"),
    LookAlike(
        "TDY106",
        "a-loader-collates",
        _SCRIPT.format(
            before="loader = DataLoader(rows, batch_size=10)",
            loop="for batch in loader:\n    step(batch)",
        ),
        {"aten::stack": 4},
    ),
]
# A recording of tidy.runtime says how many threads numpy has; one of PyTorch alone does not.
THREAD_LOOK_ALIKES = [
    LookAlike("TDY410", name, each_step(body), sees)
    for name, body, sees in (
        ("small-products", "out = values @ values.t()", {"aten::mm": 4}),
        ("no-products", "out = values.exp()", {"aten::exp": 4}),
        (
            "products-are-little",
            "out = (values @ values.t()).mean() + sum(values.exp() for _ in range(20)).mean()",
            {"aten::mm": 4, "aten::exp": 80},
        ),
    )
]
