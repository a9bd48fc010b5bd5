"""Scripts whose backward does too much, or whose loops do too little at a time."""

from .cases import Case
from .checkpoint_cases import CHECKPOINT_CASES
from .cleared_cases import CLEARED_CASES
from .evaluation_cases import EVALUATION_CASES
from .look_alikes import LookAlike
from .lookup_cases import LOOKUP_CASES, LOOKUP_LOOK_ALIKES
from .loop_cases import LOOP_CASES, LOOP_LOOK_ALIKES
from .number_cases import NUMBER_CASES, NUMBER_LOOK_ALIKES
from .pair_cases import PAIR_CASES, PAIR_LOOK_ALIKES

_HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
"""

_LOOP = (
    _HEAD
    + """\
data, labels = torch.randn(64, 8), torch.arange(64) % 16
weight = torch.ones(8, 8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for _ in range(8):
    optimizer.zero_grad()
    rows = {}
    (torch.stack(rows) @ weight).sum().backward()
    optimizer.step()
"""
)

_AVERAGES = (
    _HEAD
    + """\
model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(8)])
averages = [each.detach().clone() for each in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        for average, parameter in zip(averages, model.parameters()):
            average.mul_(0.9).add_(parameter, alpha=0.1)  #!
"""
)
_ALL_AVERAGES = """\
torch._foreach_mul_(averages, 0.9)
        torch._foreach_add_(averages, list(model.parameters()), alpha=0.1)
"""

_LOSSES = (
    _HEAD
    + """\
model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(12)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    optimizer.zero_grad()
    out = model(torch.ones(4, 8, requires_grad=True)); {}
    optimizer.step()
"""
)
_SEPARATE = "out.sum().backward(retain_graph=True)  #!\n    out.square().sum().backward()"
_ROWS = """rows = torch.eye(4)
    for row in rows:
        torch.autograd.grad(out.sum(1), model[0].weight, row, retain_graph=True)
    for value in out.sum(1):
        torch.autograd.grad(value, model[0].weight, retain_graph=True)
    out.sum().backward()"""

_FROZEN = (
    _HEAD
    + """\
backbone = nn.Sequential(*[each for _ in range(4) for each in (nn.Linear(64, 64), nn.Tanh())])
head = nn.Linear(64, 4)
optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
inputs = torch.randn(128, 64)
for _ in range(8):
    optimizer.zero_grad()
    out = head(backbone(inputs))  #!
    out.square().sum().backward()
    optimizer.step()
"""
)

_BY_HAND = (
    "with torch.no_grad():\n        for parameter in backbone.parameters():\n"
    "            parameter.sub_(parameter.grad, alpha=0.01)\n            parameter.grad = None\n"
)

PLAYERS = (
    _HEAD
    + """\
def layers(*sizes):
    each = [nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in zip(sizes, sizes[1:])]
    return nn.Sequential(*each)

makes, judges = layers(8, 24, 40, 56), layers(56, 32, 16, 4)
of_makes = torch.optim.SGD(makes.parameters(), lr=0.01)
of_judges = torch.optim.SGD(judges.parameters(), lr=0.01)
for _ in range(8):
    made = makes(torch.randn(64, 8))
    of_judges.zero_grad()
    judges(made.detach()).sum().backward()
    of_judges.step()
    of_makes.zero_grad()
    (-judges(made).sum()).backward()
    of_makes.step()
"""
)

_BATCHES = (
    _HEAD
    + """\
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train = DataLoader(TensorDataset(torch.randn(64, 16)), batch_size=16)
check = DataLoader(TensorDataset(torch.randn({samples}, 16)), batch_size={size})
for _ in range(3):
    for (inputs,) in train:
        optimizer.zero_grad()
        model(inputs).square().sum().backward()
        optimizer.step()
    with torch.no_grad():
        for (inputs,) in check:  #!
            model(inputs).sum().item()
"""
)

_OPTIMIZERS = (
    _HEAD
    + """\
model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(4)])
optimizer = torch.optim.{}(model.parameters(), lr=0.01)
for step in range(8):
    {}
    for _ in range({}):
        model.zero_grad()
        model(torch.ones(4, 8)).square().sum().backward()
        optimizer.step()
"""
)
_ANEW = "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  #!"

_SEEN = (
    _HEAD
    + """\
model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
seen = []
for step in range(12):
    out = model(torch.ones(64, 64))
    optimizer.zero_grad()
    out.square().mean().backward()
    optimizer.step()
    {}
    {}
"""
)
_ALL = "mean = torch.cat(seen).mean(0)  #!"

GRADIENT_CASES = [
    *LOOP_CASES,
    *CHECKPOINT_CASES,
    *LOOKUP_CASES,
    *PAIR_CASES,
    *CLEARED_CASES,
    *EVALUATION_CASES,
    *NUMBER_CASES,
    Case(
        "outputs-of-all-steps",
        "TDY412",
        _SEEN.format("seen.append(out.detach())", _ALL),
        ((_ALL, "mean = torch.cat(seen[-3:]).mean(0) if step > 3 else 0"),),
    ),
    Case(
        "an-optimizer-in-the-loop",
        "TDY606",
        _OPTIMIZERS.format("Adam", _ANEW, 1),
        ((_ANEW, "pass"),),
    ),
    Case(
        "masks",
        "TDY411",
        _LOOP.format("[data[labels == label].sum(0) for label in range(16)]  #!"),
        (
            (
                "[data[labels == label].sum(0) for label in range(16)]",
                "[torch.zeros(16, 8).index_add_(0, labels, data)]",
            ),
        ),
    ),
    Case(
        "averages",
        "TDY411",
        _AVERAGES,
        (
            (
                "for average, parameter in zip(averages, model.parameters()):\n"
                "            average.mul_(0.9).add_(parameter, alpha=0.1)  #!\n",
                _ALL_AVERAGES,
            ),
        ),
    ),
    Case(
        "validated-one-by-one",
        "TDY108",
        _BATCHES.format(samples=40, size=1),
        (("batch_size=1)", "batch_size=20)"),),
    ),
    Case(
        "validated-for-longer-than-trained",
        "TDY707",
        _BATCHES.format(samples=480, size=16),
        (("torch.randn(480, 16)", "torch.randn(16, 16)"),),
    ),
    Case(
        "losses-one-by-one",
        "TDY703",
        _LOSSES.format(_SEPARATE),
        ((_SEPARATE, "(out.sum() + out.square().sum()).backward()"),),
    ),
    Case(
        "backbone-not-frozen",
        "TDY704",
        _FROZEN,
        (("\nfor _ in range(8)", "\nbackbone.requires_grad_(False)\nfor _ in range(8)"),),
    ),
]

GRADIENT_LOOK_ALIKES = [
    *LOOP_LOOK_ALIKES,
    *LOOKUP_LOOK_ALIKES,
    *NUMBER_LOOK_ALIKES,
    *PAIR_LOOK_ALIKES,
    LookAlike(
        "TDY108",
        "of-the-size-of-training",
        _BATCHES.format(samples=480, size=16).replace("  #!", ""),
        {"enumerate(DataLoader)#*": 90},
    ),
    LookAlike(
        "TDY108",
        "some-single-samples",
        _BATCHES.format(samples=6, size=1).replace("  #!", ""),
        {"enumerate(DataLoader)#*": 18},
    ),
    LookAlike(
        "TDY108",
        "training-takes-one-too",
        _BATCHES.format(samples=40, size=1)
        .replace("batch_size=16", "batch_size=1")
        .replace("  #!", ""),
        {"enumerate(DataLoader)#*": 100},
    ),
    LookAlike(
        "TDY707",
        "shorter-than-training",
        _BATCHES.format(samples=32, size=16).replace("  #!", ""),
        {"enumerate(DataLoader)#*": 18},
    ),
    LookAlike(
        "TDY707",
        "a-pass-without-gradients-in-each-step",
        _BATCHES.format(samples=480, size=16)
        .replace(
            "        optimizer.zero_grad()\n",
            "        for (beside,) in check:\n"
            "            model(beside).detach()\n        optimizer.zero_grad()\n",
        )
        .replace("  #!", ""),
        {"enumerate(DataLoader)#*": 90},
    ),
    LookAlike(
        "TDY707",
        "training-alone",
        _BATCHES.format(samples=0, size=16).replace("  #!", ""),
        {"enumerate(DataLoader)#*": 9},
    ),
    LookAlike(
        "TDY606",
        "made-once",
        _OPTIMIZERS.format("Adam", "pass", 1),
        {"Optimizer.step#Adam.step": 8},
    ),
    LookAlike(
        "TDY606",
        "for-each-task",
        _OPTIMIZERS.format("Adam", _ANEW.removesuffix("  #!"), 3),
        {"Optimizer.step#Adam.step": 24},
    ),
    LookAlike(
        "TDY606",
        "of-two-phases",
        _OPTIMIZERS.format("Adam", f"if step == 4: {_ANEW.removesuffix('  #!')}", 1),
        {"Optimizer.step#Adam.step": 8},
    ),
    LookAlike(
        "TDY412",
        "the-last-ones",
        _SEEN.format("seen = [*seen, out.detach()][-2:]", "torch.cat(seen).mean(0)"),
        {"aten::cat": 12},
    ),
    LookAlike(
        "TDY412",
        "batches-of-any-length",
        _SEEN.format("pass", "torch.ones(step * step % 7 + 1, 64) @ model.weight.T"),
        {"aten::matmul": 12},
    ),
    LookAlike(
        "TDY412",
        "kept-and-put-together-once",
        _SEEN.format("seen.append(out.detach())", "step == 11 and torch.cat(seen)"),
        {"aten::cat": 1},
    ),
    LookAlike("TDY411", "layers", _LOSSES.format("out.sum().backward()"), {"aten::linear": 96}),
    LookAlike(
        "TDY411",
        "few-rounds",
        _LOOP.format("[data[labels == label].sum(0) for label in range(6)]"),
        {"aten::index": 48},
    ),
    LookAlike(
        "TDY411",
        "rows-of-the-batch",
        _LOOP.format("[row * 2 + 1 for row in data]"),
        {"aten::unbind": 8, "aten::add": 512},
    ),
    LookAlike(
        "TDY703",
        "a-derivative-is-derived",
        _LOSSES.format(
            "(slope,) = torch.autograd.grad(out.square().sum(), model[0].weight,"
            " create_graph=True)\n    (out.sum() + slope.square().sum()).backward()"
        ),
        {"AddmmBackward0": 96},
    ),
    LookAlike(
        "TDY703",
        "micro-batches",
        _LOSSES.format("out.sum().backward()\n    model(torch.ones(2, 8)).sum().backward()"),
        {"AddmmBackward0": 192},
    ),
    LookAlike(
        "TDY703",
        "a-step-without-gradients-between",
        _LOSSES.format(
            "out.sum().backward()\n    with torch.no_grad():\n        model(torch.ones(4, 8))"
        ),
        {"AddmmBackward0": 96},
    ),
    LookAlike("TDY703", "rows-of-a-jacobian", _LOSSES.format(_ROWS), {"AddmmBackward0": 864}),
    LookAlike(
        "TDY704",
        "two-optimizers",
        PLAYERS,
        {"torch::autograd::AccumulateGrad": 144},
    ),
    LookAlike(
        "TDY704",
        "the-gradient-of-an-input-is-used",
        _LOSSES.format("out.sum().backward()"),
        {"torch::autograd::AccumulateGrad": 200},
    ),
    LookAlike(
        "TDY704",
        "updated-by-hand",
        f"{_FROZEN.replace('  #!', '')}    {_BY_HAND}",
        {"torch::autograd::AccumulateGrad": 80, "aten::sub_": 64},
    ),
    LookAlike(
        "TDY704",
        "what-is-not-trained-is-nearer-to-the-loss",
        _FROZEN.replace("head.parameters()", "backbone.parameters()").replace("  #!", ""),
        {"torch::autograd::AccumulateGrad": 80},
    ),
]
