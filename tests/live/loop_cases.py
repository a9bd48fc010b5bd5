"""Scripts whose loops over a tensor take one branch or another in each round."""

from .cases import Case
from .look_alikes import LookAlike

_TURNED = """\
import torch

torch.manual_seed(0)

def turned(batch):
    out = torch.zeros(48, 16)
    for i in range({rounds}):
        if i * 7 % 5 < 2:
            {first}
        else:
            {second}
    return out

for _ in range(4):
    turned(torch.randn(48, 16))
"""
_FIRST, _SECOND = "out[i] = batch[i].flip(0)  #!", "out[i] = batch[i] * 2"
_BY_INDEX = _TURNED.format(rounds=48, first=_FIRST, second=_SECOND)
_WHOLE = """\
    turns = torch.arange(48) * 7 % 5 < 2
    out = torch.where(turns[:, None], batch.flip(1), batch * 2)
"""

_SCALED = """\
import torch

torch.manual_seed(0)

def scaled(batch):
    out = []
    for row in batch:  #!
        if row.sum() > 0:
            row = row * 2
        out.append(row + 1)
    return torch.stack(out)

for _ in range(4):
    scaled(torch.randn({rows}, 16))
"""
_BY_ROW = _SCALED.format(rows=48)
_LOOP = _BY_ROW[_BY_ROW.index("    out = []") : _BY_ROW.index("\nfor _")]

# A branch that no round takes leaves rounds that are all alike.
_ASKED = _TURNED.replace("i * 7 % 5 < 2", "False")
_NEVER = _ASKED.format(
    rounds=48, first="pass", second="out[i] = batch[i] if batch[i].max() > 99 else batch[i] * 2  #!"
)

_GRADIENTS = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
params = list(model.parameters())
optimizer = torch.optim.SGD(params, lr=0.01)
x = torch.randn(16, 16)

def taken():
    sums = [torch.zeros_like(each) for each in params]
    for i in range(16):
        loss = model(x[i : i + 1]).square().sum()  #!
        grads = torch.autograd.grad(loss, params)
        for total, each in zip(sums, grads):
            total += each
    return sums

for step in range(8):
    for param, each in zip(params, taken()):
        param.grad = each
    optimizer.step()
"""
_EACH = _GRADIENTS[_GRADIENTS.index("    sums =") : _GRADIENTS.index("\nfor step")]
_OF_ALL = "    return torch.autograd.grad(model(x).square().sum(), params)\n"
_COLLECTED = _GRADIENTS[_GRADIENTS.index("        grads =") : _GRADIENTS.index("    return sums")]
_BY_HAND = """\
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for param, each in zip(params, grads):
                param -= 0.01 * each
"""

_AVERAGED = """\
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn

layers = [each for _ in range(20) for each in (nn.Linear(8, 8), nn.BatchNorm1d(8))]
model = nn.Sequential(*layers)
averaged = AveragedModel(model, {})
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    averaged.update_parameters(model)  #!
"""
_ONE_BY_ONE, _IN_LISTS = "avg_fn=get_ema_avg_fn(0.9)", "multi_avg_fn=get_ema_multi_avg_fn(0.9)"

_EVALUATED = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for inputs in torch.ones(4, 32, 16):
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
    with torch.no_grad():
        losses = [model(batch).square().mean() for batch in torch.ones(12, 64, 16)]
"""

LOOP_CASES = [
    Case("a-gradient-of-each-sample", "TDY406", _GRADIENTS, ((_EACH, _OF_ALL),)),
    Case(
        "parameters-averaged-one-by-one",
        "TDY411",
        _AVERAGED.format(_ONE_BY_ONE),
        ((_ONE_BY_ONE, _IN_LISTS),),
    ),
    Case(
        "a-branch-in-each-round",
        "TDY404",
        _BY_INDEX,
        ((_BY_INDEX[_BY_INDEX.index("    for i") : _BY_INDEX.index("    return")], _WHOLE),),
    ),
    Case(
        "a-branch-that-no-round-takes",
        "TDY404",
        _NEVER,
        ((_NEVER[_NEVER.index("    for i") : _NEVER.index("    return")], _WHOLE),),
    ),
    Case(
        "a-branch-for-each-row",
        "TDY406",
        _BY_ROW,
        ((_LOOP, "    return torch.where((batch.sum(1) > 0)[:, None], batch * 2, batch) + 1\n"),),
    ),
]

LOOP_LOOK_ALIKES = [
    *(
        LookAlike(
            "TDY406",
            name,
            _GRADIENTS.replace(_COLLECTED, lines).replace("  #!", ""),
            {"aten::slice": 128, "AddmmBackward0": 256},
        )
        for name, lines in (
            ("micro-batches", "        loss.backward()\n"),
            ("a-step-by-hand-after-each-sample", _BY_HAND),
        )
    ),
    LookAlike(
        "TDY411",
        "buffers-of-an-averaged-model",
        _AVERAGED.format(_IN_LISTS).replace("  #!", ""),
        {"aten::copy_": 200, "*: update_parameters": 4},
    ),
    LookAlike(
        "TDY404",
        "few-rounds-with-a-branch",
        _TURNED.format(rounds=9, first=_FIRST, second=_SECOND).replace("  #!", ""),
        {"aten::select": 72},
    ),
    LookAlike(
        "TDY404",
        "each-round-another-work",
        _TURNED.format(
            rounds=12, first="out[0] = sum(batch[i] * n for n in range(i))", second=_SECOND
        ),
        {"aten::select": 80},
    ),
    LookAlike(
        "TDY404",
        "the-same-element-in-each-branch",
        _TURNED.format(rounds=48, first="out = out * batch[3]", second="out = out + batch[3]"),
        {"aten::select": 192},
    ),
    LookAlike(
        "TDY406", "batches-are-evaluated", _EVALUATED, {"aten::unbind": 5, "aten::linear": 100}
    ),
    LookAlike(
        "TDY406",
        "few-rows-with-a-branch",
        _SCALED.format(rows=7).replace("  #!", ""),
        {"aten::unbind": 4},
    ),
]
