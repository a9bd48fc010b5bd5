"""Gradients that look as if they went by way of the CPU; see look_alikes.py.

What looks like a mistake on several devices is recorded: test_several_devices.py.
"""

from .look_alikes import LookAlike

# Gradients by way of Gloo, as in parallel_cases.py; what is reduced comes with the gap.
_GLOO = """\
import torch
from torch import nn

record_function = getattr(torch, "record_function", None) or torch.profiler.record_function
model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(16, 64, device="cuda")
on_host = torch.zeros(64, 64)

for step in range(4):
    optimizer.zero_grad()
    with record_function("DistributedDataParallel.forward"):
        scores = model(inputs)
    scores.sum().backward()
    {body}
    optimizer.step()
"""
_FORWARDS = {"DistributedDataParallel.forward": 4}


def _gloo(code: str, name: str, sees: dict[str, int], body: str) -> LookAlike:
    return LookAlike(code, name, _GLOO.format(body=body), {**_FORWARDS, **sees}, "t4")


PARALLEL_LOOK_ALIKES = [
    _gloo(
        "TDY908",
        "a-barrier",
        {"gloo:barrier": 4},
        'with record_function("gloo:barrier"): pass',
    ),
    _gloo(
        "TDY908",
        "numbers-of-the-cpu",
        {"gloo:all_reduce": 4},
        'with record_function("gloo:all_reduce"): on_host.add_(1)',
    ),
    _gloo(
        "TDY908",
        "once",
        {"gloo:all_reduce": 1, "Memcpy DtoH*": 1},
        "if step == 1:\n"
        '        with record_function("gloo:all_reduce"): on_host.copy_(model[0].weight.grad)\n'
        "        model[0].weight.grad.copy_(on_host)",
    ),
]
