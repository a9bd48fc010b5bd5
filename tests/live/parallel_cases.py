"""Scripts for rules about several devices, wrong and corrected; see device_cases.py."""

from .cases import Case
from .device_cases import DeviceCase

_PARALLEL = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8)).to("cuda")
parallel = nn.DataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(128, 64, device="cuda")
for step in range(5):
    optimizer.zero_grad()
    parallel(inputs).sum().backward()  #!
    optimizer.step()
"""

# One process drives both devices; gradients meet in one bucket, when backward is over.
_REDUCED = """\
import torch
from torch import nn

model = nn.Linear(3072, 3072).to("cuda")
parallel = nn.parallel.DistributedDataParallel(model, device_ids=[0, 1], bucket_cap_mb=100)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(4, 3072, device="cuda")
for step in range(4):
    optimizer.zero_grad()
    parallel(inputs).sum().backward()  #!
    optimizer.step()
"""

# Buffers and gradients of a model on two devices; what is at fault comes with the gaps.
_DISTRIBUTED = """\
import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Sequential(nn.Linear(64, 64), nn.{norm}(64), nn.Tanh()) for _ in range(8)]
model = nn.Sequential(*layers, nn.Linear(64, 8)).to("cuda")
parallel = nn.parallel.DistributedDataParallel(model, device_ids=[0, 1]{options})
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.01)
inputs = torch.randn(128, 64, device="cuda")
beside = torch.ones(2048, 2048, dtype=torch.float64, device="cuda:1")
for step in range(4):
    optimizer.zero_grad()
    {body}
    optimizer.step()
"""

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


def _distributed(
    name: str,
    code: str,
    *right: tuple[str, str],
    options: str = "",
    norm: str = "LayerNorm",
    body: str = "parallel(inputs).sum().backward()  #!",
) -> DeviceCase:
    text = _DISTRIBUTED.format(options=options, norm=norm, body=body)
    return DeviceCase(Case(name, code, text, right), "t4:2")


PARALLEL_CASES = [
    DeviceCase(
        Case(
            "data-parallel",
            "TDY903",
            _PARALLEL,
            (("nn.DataParallel(model)", "model"),),
        ),
        "a100:2",
    ),
    DeviceCase(
        Case("exposed", "TDY901", _REDUCED, (("3072", "64"),)),
        "t4:2",
    ),
    _distributed(
        "late-device",
        "TDY902",
        ("beside @ beside\n", "pass\n"),
        options=", gather_outputs=False",
        body="losses = [each.sum() for each in parallel(inputs)]\n    beside @ beside\n"
        "    torch.autograd.backward(losses)  #!",
    ),
    _distributed(
        "small-buckets",
        "TDY904",
        (", bucket_cap_mb=1e-6", ""),
        options=", bucket_cap_mb=1e-6",
    ),
    _distributed(
        "accumulated",
        "TDY905",
        (
            "parallel(inputs).sum().backward()  #!",
            "with parallel.no_sync():\n        parallel(inputs).sum().backward()",
        ),
        body="parallel(inputs).sum().backward()  #!\n    parallel(inputs).sum().backward()",
    ),
    _distributed(
        "buffers",
        "TDY906",
        ("[0, 1]", "[0, 1], broadcast_buffers=False"),
        norm="BatchNorm1d",
    ),
    _distributed(
        "unused",
        "TDY907",
        (", find_unused_parameters=True", ""),
        options=", find_unused_parameters=True",
    ),
    DeviceCase(
        Case(
            "gloo",
            "TDY908",
            _GLOO,
            (("        reduce(parameter)", "        pass"),),
        ),
        "t4:2",
    ),
]
