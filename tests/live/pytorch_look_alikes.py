"""Scripts that look like a mistake that PyTorch alone records, and are none; see look_alikes.py."""

from .cases import each_step
from .look_alikes import LookAlike

_COMPILED = """\
import torch

torch._dynamo.reset()
layer = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

@torch.compile(backend="eager"{options})
def forward(x):
    return layer(x).relu()

@torch.compile(backend="eager")
def loss_of(x):
    return x.square().sum()

for step in range(6):
    {body}
    optimizer.step()
"""
_COMPILES, _REGIONS = "_compile.compile_inner (dynamo_timed)", "Torch-Compiled Region*"


def _compiled(
    code: str, name: str, sees: dict[str, int], body: str, options: str = ""
) -> LookAlike:
    text = _COMPILED.format(body=body, options=options)
    return LookAlike(code, name, text, sees)


_RECURRENT = """\
import torch
from torch import nn

batch = torch.ones(32, 8)
model = nn.GRUCell(8, 8)
for _ in range(3):
    hidden = torch.zeros(1, 8)
    for i in range(32):
        hidden = model(batch[i : i + 1], hidden)
"""

_READ_AND_MADE = {"aten::resolve_conj": 4, "aten::lift_fresh": 4}

_LISTS = "\nlists = [[float(i + j) for j in range(8)] for i in range(32)]"
_MADE = {"aten::lift_fresh": 128, "aten::stack": 4}

PYTORCH_LOOK_ALIKES = [
    _compiled(
        "TDY001",
        "the-same-shape-in-each-step",
        {_COMPILES: 1, _REGIONS: 6},
        "forward(torch.ones(4, 8)).sum().backward()",
    ),
    _compiled(
        "TDY001",
        "compiled-for-any-shape",
        {_COMPILES: 1, _REGIONS: 6},
        "forward(torch.ones(4 + step, 8)).sum().backward()",
        ", dynamic=True",
    ),
    _compiled(
        "TDY001",
        "one-new-shape",
        {_COMPILES: 2, _REGIONS: 6},
        "forward(torch.ones(4 if step < 3 else 8, 8)).sum().backward()",
        ", dynamic=False",
    ),
    _compiled(
        "TDY001",
        "another-function-in-each-step",
        {_COMPILES: 5, _REGIONS: 5},
        "torch.compile(eval(f'lambda x: x + {step}'), backend='eager')(torch.ones(4, 8))",
    ),
    _compiled(
        "TDY002",
        "two-functions",
        {_REGIONS: 12},
        "loss_of(forward(torch.ones(4, 8))).backward()",
    ),
    _compiled(
        "TDY002",
        "a-block-that-is-called-twice",
        {_REGIONS: 12},
        "forward(forward(torch.ones(4, 8))).sum().backward()",
    ),
    LookAlike(
        "TDY107",
        "each-is-worked-on-before",
        each_step("out = torch.stack([torch.tensor(each).sqrt() for each in lists])", _LISTS),
        _MADE,
    ),
    LookAlike(
        "TDY107",
        "long-lists",
        each_step(
            "out = torch.stack([torch.tensor(each * 40) for each in lists])",
            _LISTS,
        ),
        _MADE,
    ),
    LookAlike(
        "TDY107",
        "not-stacked",
        each_step("out = [torch.tensor(each) for each in lists][-1]", _LISTS),
        {"aten::lift_fresh": 128},
    ),
    LookAlike(
        "TDY406",
        "a-recurrent-cell-needs-the-step-before",
        _RECURRENT,
        {"aten::slice": 96, "aten::gru_cell": 96},
    ),
    LookAlike(
        "TDY406",
        "a-recurrent-cell-over-rows-needs-the-row-before",
        _RECURRENT.replace("for i in range(32):", "for row in batch:").replace(
            "batch[i : i + 1], hidden", "row.unsqueeze(0), hidden"
        ),
        {"aten::unbind": 3, "aten::gru_cell": 96},
    ),
    LookAlike(
        "TDY409",
        "numpys-result-is-not-copied",
        each_step("out = torch.from_numpy(values.numpy() * 2)"),
        {"aten::resolve_conj": 4, "aten::lift_fresh": 4},
    ),
    LookAlike(
        "TDY409",
        "numbers-of-another-length",
        each_step("out = torch.tensor(values[:, 0].tolist()[::2])"),
        _READ_AND_MADE,
    ),
    LookAlike(
        "TDY409",
        "a-few-numbers",
        each_step("out = torch.tensor([2 * each for each in values[:3, 0].tolist()])"),
        _READ_AND_MADE,
    ),
]
