"""A script that sends gradients by way of the CPU, wrong and corrected; see device_cases.py.

Scripts on several devices are recorded: test_several_devices.py.
"""

from .cases import Case
from .device_cases import DeviceCase

# tidy.runtime has no process groups: the script sends gradients as PyTorch does with Gloo, by way
# of pinned memory of the host, in ranges that have PyTorch's names.
_GLOO = """\
import torch
from torch import nn

record_function = getattr(torch, "record_function", None) or torch.profiler.record_function
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(4)]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(16, 256, device="cuda")

def reduce(parameter):
    on_host = torch.empty(parameter.shape, pin_memory=True)
    with record_function("gloo:all_reduce"):  #!
        on_host.copy_(parameter.grad)
        parameter.grad.copy_(on_host)

for step in range(4):
    optimizer.zero_grad()
    with record_function("DistributedDataParallel.forward"):
        scores = model(inputs)
    scores.sum().backward()
    for parameter in model.parameters():
        reduce(parameter)
    optimizer.step()
"""

PARALLEL_CASES = [
    DeviceCase(
        Case(
            "gloo",
            "TDY908",
            _GLOO,
            (("        reduce(parameter)", "        pass"),),
        ),
        "t4",
    ),
]
