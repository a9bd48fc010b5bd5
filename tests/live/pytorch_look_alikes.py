"""Scripts that look like a mistake that PyTorch alone records, and are none; see look_alikes.py."""

from .gradient_cases import PLAYERS
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
# A table of which a step looks up some rows; tidy.runtime has no operator for its gradient.
TABLE = """\
import torch
from torch import nn

table = nn.Embedding({rows}, 16{options})
weight = torch.ones(16, 4, requires_grad=True)
optimizer = torch.optim.SGD([*table.parameters(), weight], lr=0.01)
for step in range(8):
    optimizer.zero_grad()
    found = table(torch.arange({count}) + step)
    {more}
    (found @ weight).sum().backward()
    optimizer.step()
"""
_GRADIENTS = {"aten::embedding_dense_backward": 8}

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


# Data parallelism reads which parameters were used, one after the other.
_UNUSED = """\
import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = nn.Sequential(*(nn.Linear(8, 8) for _ in range(12)))
model = nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
for _ in range(3):
    model(torch.ones(2, 8)).sum().backward()
dist.destroy_process_group()
"""


# The scaler finds no finite gradient, and lets one of two optimizers step in no step.
_SCALED = PLAYERS.replace("for _", 'scaler = torch.amp.GradScaler("cpu")\nfor _', 1).replace(
    "(-judges(made).sum()).backward()\n    of_makes.step()",
    "scaler.scale(-judges(made).sum() * 1e38).backward()\n"
    "    scaler.step(of_makes)\n    scaler.update()",
)


PYTORCH_LOOK_ALIKES = [
    LookAlike(
        "TDY404",
        "the-map-of-used-parameters",
        _UNUSED,
        {"torch.distributed.ddp.reducer::copy_bucket_to_grad": 72},
    ),
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
        "TDY704",
        "the-scaler-skips-its-steps",
        _SCALED,
        {"Optimizer.step#SGD.step": 8, "aten::_amp_foreach_non_finite_check_and_unscale_": 8},
    ),
    LookAlike(
        "TDY605",
        "many-are-looked-up",
        TABLE.format(rows=20_000, options="", count=4096, more="pass"),
        _GRADIENTS,
    ),
    LookAlike(
        "TDY605",
        "a-small-table",
        TABLE.format(rows=80, options="", count=8, more="pass"),
        _GRADIENTS,
    ),
    LookAlike(
        "TDY605",
        "of-a-large-step",
        TABLE.format(
            rows=20_000,
            options="",
            count=32,
            more="(torch.ones(2400, 2400) @ torch.ones(2400, 2400)).sum()",
        ),
        _GRADIENTS,
    ),
]
