"""Scripts on several modelled devices that look like a mistake and are none; see look_alikes.py."""

from .look_alikes import LookAlike

_DISTRIBUTED = """\
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [(nn.Linear(64, 64), nn.{norm}(64), nn.Tanh()) for _ in range({layers})]
        self.body = nn.Sequential(*[each for layer in layers for each in layer])
        self.heads = nn.ModuleList([nn.Linear(64, 8) for _ in range({heads})])

    def forward(self, x):
        return self.heads[step % {heads}](self.body(x))

torch.manual_seed(0)
parallel = nn.parallel.DistributedDataParallel(Model().to("cuda"), device_ids=[0, 1]{options})
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.01)
inputs = torch.randn(64, 64, device="cuda")
beside = [torch.ones(1536, 1536, dtype=torch.float64, device=f"cuda:{{n}}") for n in (0, 1)]
streams = [torch.cuda.Stream(n) for n in (0, 1)]

def compute_beside(device, count):
    with torch.cuda.stream(streams[device]):
        for _ in range(count):
            beside[device] @ beside[device]

for step in range(4):
    optimizer.zero_grad()
    {body}
    optimizer.step()
"""

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
# Two models that are trained against each other, each with an optimizer of its own.
_TWO_MODELS = """\
import torch
from torch import nn

models = [
    nn.parallel.DistributedDataParallel(nn.Linear(64, count).to("cuda"), device_ids=[0, 1])
    for count in (1, 64)
]
optimizers = [torch.optim.SGD(each.parameters(), lr=0.01) for each in models]
inputs = torch.randn(64, 64, device="cuda")
for step in range(4):
    for model, optimizer in zip(models, optimizers):
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()
"""
_FORWARDS = {"DistributedDataParallel.forward": 4}
_EACH, _MEAN = ", gather_outputs=False", "parallel(inputs).sum().backward()"
_SUMS = "torch.autograd.backward([each.sum() for each in parallel(inputs)])"


def _distributed(
    code: str,
    name: str,
    sees: dict[str, int],
    options: str = "",
    norm: str = "LayerNorm",
    heads: int = 1,
    layers: int = 1,
    body: str = _MEAN,
) -> LookAlike:
    text = _DISTRIBUTED.format(options=options, norm=norm, heads=heads, layers=layers, body=body)
    return LookAlike(code, name, text, {**_FORWARDS, **sees}, "t4:2")


def _gloo(code: str, name: str, sees: dict[str, int], body: str) -> LookAlike:
    return LookAlike(code, name, _GLOO.format(body=body), {**_FORWARDS, **sees}, "t4:2")


# In one step the second device comes late to the all-reduce, and the first computes meanwhile.
_ONE_IS_LATE = """\
losses = [each.sum() for each in parallel(inputs)]
    if step == 2:
        compute_beside(0, 2)
        compute_beside(1, 1)
        torch.cuda.current_stream(1).wait_stream(streams[1])
    torch.autograd.backward(losses)"""
_WORKS = {"volta_dgemm*": 3}
_UNUSED = ", find_unused_parameters=True"
_KERNELS = {"nccl*Kernel*": 4}

PARALLEL_LOOK_ALIKES = [
    _distributed("TDY901", "a-small-part-of-the-steps", _KERNELS),
    _distributed(
        "TDY901", "hidden-behind-other-work", {**_KERNELS, **_WORKS}, _EACH, body=_ONE_IS_LATE
    ),
    _distributed(
        "TDY902",
        "one-works-until-the-other-comes",
        {**_KERNELS, **_WORKS},
        _EACH,
        body=_ONE_IS_LATE,
    ),
    _distributed("TDY902", "devices-come-together", _KERNELS, _EACH, body=_SUMS),
    _distributed("TDY904", "buckets", {"c10d::allreduce_": 4}, layers=8),
    LookAlike(
        "TDY905",
        "two-models-that-step-by-turns",
        _TWO_MODELS,
        {"DistributedDataParallel.forward": 8, "c10d::allreduce_": 8},
        "t4:2",
    ),
    _distributed("TDY906", "buffers-stay", {}, ", broadcast_buffers=False", norm="BatchNorm1d"),
    _distributed("TDY906", "no-buffers", {}),
    _distributed(
        "TDY907",
        "one-of-two-heads-in-a-step",
        {"*search_unused_parameters": 4},
        _UNUSED,
        heads=2,
    ),
    _distributed(
        "TDY907",
        "heads-that-are-never-used",
        {"*search_unused_parameters": 4},
        _UNUSED,
        heads=9,
    ),
    _distributed(
        "TDY907",
        "one-of-two-heads-with-batch-norms",
        {"*search_unused_parameters": 4},
        _UNUSED,
        "BatchNorm1d",
        heads=2,
    ),
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
