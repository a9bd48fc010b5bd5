"""One small script for each rule that needs a device, wrong and corrected; see cases.py.

They are scripts for PyTorch and run on a real GPU as they are. A device is given to `tidy run` by
`--device`, or is configured before the script runs in this process.
"""

from typing import NamedTuple

from .cases import Case


class DeviceCase(NamedTuple):
    """A case, and what it runs on."""

    case: Case
    device: str = "a100"  # of `tidy run --device`, or "a100:2"
    has_place: bool = True  # whether the findings name a line
    on_cpu_time: bool = True  # no other program shows in its times: see on_cpu_time.py

    @property
    def name(self) -> str:
        return self.case.name


_LOADER = """\
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.ones(4) * index

def train():
    loader = DataLoader(Slow(), batch_size=4, shuffle=True)
    weight = torch.ones(4, 4, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for batch in loader:  #!
        optimizer.zero_grad()
        (batch.to("cuda", non_blocking=True) @ weight).sum().backward()
        optimizer.step()

if __name__ == "__main__":
    train()
"""

# A training loop; what is at fault comes with `before` (the loop), `inputs` or `after` (the step).
_TRAIN = """\
import numpy
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8))
model = model.to("cuda")
optimizer = torch.optim.{optimizer}
samples = [torch.randn({size}, 64) for _ in range(6)]
batches = torch.stack(samples).to("cuda")
{before}
for step in range(6):
    {inputs}
    loss = model(inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    {update}
    {after}
"""


def train(
    before: str = "",
    inputs: str = "inputs = batches[step]",
    after: str = "",
    optimizer: str = "SGD(model.parameters(), lr=0.01)",
    update: str = "optimizer.step()",
    size: int = 512,
) -> str:
    return _TRAIN.format(
        before=before, inputs=inputs, after=after, optimizer=optimizer, update=update, size=size
    )


def _extra(name: str, made: str) -> DeviceCase:
    """`made` has {to}, where it is copied, and {on}, what makes it on the device."""
    wrong = made.format(to='.to("cuda")', on="")
    right = made.format(to="", on=', device="cuda"')
    inputs = f"inputs = batches[step] + {wrong}  #!"
    return DeviceCase(Case(f"extra-{name}", "TDY201", train(inputs=inputs), ((wrong, right),)))


def _sync(name: str, wrong: str, right: str, before: str = "") -> DeviceCase:
    case = Case(f"sync-{name}", "TDY301", train(before, after=f"{wrong}  #!"), ((wrong, right),))
    return DeviceCase(case)


def _single(kind: str, options: str, instead: str) -> DeviceCase:
    optimizer = f"{kind}(model.parameters(), lr=0.01{options}, foreach=False)"
    text = train(optimizer=optimizer, update="optimizer.step()  #!")
    name = f"single-{kind}-{instead.partition('=')[0]}"
    return DeviceCase(Case(name, "TDY601", text, (("foreach=False", instead),)))


def _unfused(kind: str, options: str = "") -> DeviceCase:
    optimizer = f"{kind}(model.parameters(), lr=0.01{options}, foreach=True)"
    text = train(optimizer=optimizer, update="optimizer.step()  #!")
    return DeviceCase(Case(f"unfused-{kind}", "TDY602", text, (("foreach=True", "fused=True"),)))


_PINNED = "samples = [each.pin_memory() for each in samples]"

_LAUNCHES = """\
import torch

weight = torch.ones(64, 64, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for step in range(5):
    values = weight
    for _ in range(40):
        values = torch.tanh(values)
    optimizer.zero_grad()
    values.sum().backward()
    optimizer.step()
"""

_BLOCKING = """\
import os

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

import torch

weight = torch.ones(512, 512, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
inputs = torch.ones(512, 512, device="cuda")
for step in range(5):
    out = inputs
    for _ in range(4):
        out = out @ weight
    optimizer.zero_grad()
    out.sum().backward()
    optimizer.step()
"""

_GROWING = """\
import torch

weight = torch.ones(256, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
kept = []
{limit}
for step in range(6):
    inputs = torch.ones(12288 + 4096 * step, 256, device="cuda")  #!
    {keep}
    optimizer.zero_grad()
    (inputs[:64] * weight).sum().backward()
    optimizer.step()
    del inputs
"""
# What is added up keeps the graph of each step, and that what its backward would need.
_VALIDATED = """\
import torch

weight = torch.ones(256, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
batch = torch.ones(2048, 256, device="cuda")
total = torch.zeros((), device="cuda")
for step in range(7):
    optimizer.zero_grad()
    (batch[:64] * weight).sum().backward()
    checked = (batch * weight).square().mean()
    total = total + checked  #!
    optimizer.step()
"""
_SAME = (("12288 + 4096 * step", "12288"), ("kept.append(inputs)", "pass"))

_CONVOLUTIONS = """\
import torch
from torch import nn

model = nn.Sequential(*[nn.Conv2d(64, 64, 3, padding=1) for _ in range(4)]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images = torch.randn(24, 64, 32, 32).to("cuda")
for step in range(4):
    optimizer.zero_grad()
    model(images).sum().backward()  #!
    optimizer.step()
"""

CASES = [
    DeviceCase(
        Case(
            "loader",
            "TDY101",
            _LOADER,
            (("shuffle=True", "shuffle=True, num_workers=2, pin_memory=True"),),
        ),
        on_cpu_time=False,  # it sleeps
    ),
    DeviceCase(
        Case(
            "unpinned",
            "TDY103",
            train(inputs='inputs = samples[step].to("cuda")  #!'),
            (
                ("batches =", f"{_PINNED}\nbatches ="),
                ('.to("cuda")  #!', '.to("cuda", non_blocking=True)'),
            ),
        )
    ),
    DeviceCase(
        Case(
            "blocking",
            "TDY104",
            train(_PINNED, 'inputs = samples[step].to("cuda")  #!'),
            (('.to("cuda")  #!', '.to("cuda", non_blocking=True)'),),
        )
    ),
    DeviceCase(
        Case(
            "blocking-cuda",
            "TDY104",
            train(_PINNED, "inputs = samples[step].cuda()  #!"),
            ((".cuda()  #!", ".cuda(non_blocking=True)"),),
        )
    ),
    _extra("zeros", "torch.zeros(512, 64{on}){to}"),
    _extra("randn", "torch.randn(512, 64{on}){to}"),
    _extra("full", "torch.full((512, 64), 0.5{on}){to}"),
    DeviceCase(
        Case(
            "ping-pong",
            "TDY202",
            train(
                inputs="values = numpy.tanh(batches[step].cpu().numpy())  #!\n"
                '    inputs = torch.from_numpy(values).to("cuda")'
            ),
            (
                ("values = numpy.tanh(batches[step].cpu().numpy())", "values = batches[step]"),
                ('torch.from_numpy(values).to("cuda")', "torch.tanh(values)"),
            ),
        )
    ),
    _sync("item", "total = loss.item()", "total = loss.detach()"),
    _sync("float", "total = float(loss)", "total = loss.detach()"),
    _sync(
        "if",
        "clipped = loss if loss < 0.5 else loss * 0",
        "clipped = torch.where(loss < 0.5, loss, 0)",
    ),
    _sync("mask", "positive = inputs[inputs > 0].sum()", "positive = inputs.clamp(min=0).sum()"),
    _sync("mask-assign", "inputs[inputs > 0] *= 0.5", "inputs[inputs > 0] = 0.5"),
    _sync("scalar-index", "row = inputs[loss.long()]", "row = inputs[0]"),
    _sync("nonzero", "many = (inputs > 0).nonzero().shape[0]", "many = (inputs > 0).sum()"),
    _sync("cpu", "shown = loss.detach().cpu()", "shown = loss.detach()"),
    _sync("tolist", "shown = inputs[0].tolist()", "shown = inputs[0]"),
    DeviceCase(
        Case(
            "synchronize",
            "TDY302",
            train(after="torch.cuda.synchronize()  #!"),
            (("torch.cuda.synchronize()  #!", "pass"),),
        )
    ),
    DeviceCase(
        Case(
            "synchronize-stream",
            "TDY302",
            train(after="torch.cuda.current_stream().synchronize()  #!"),
            (("torch.cuda.current_stream().synchronize()  #!", "pass"),),
        )
    ),
    DeviceCase(
        Case(
            "early-read",
            "TDY305",
            train(after='shown = loss.detach().to("cpu", non_blocking=True).item()  #!'),
            (('.to("cpu", non_blocking=True)', ""),),
        )
    ),
    DeviceCase(
        Case(
            "scalars",
            "TDY304",
            train(
                inputs="a, b, c = (torch.tensor(n / 7, device='cuda') for n in (1, 2, 3))  #!\n"
                "    inputs = batches[step] * a + b * c"
            ),
            (("(torch.tensor(n / 7, device='cuda') for n in (1, 2, 3))", "(1 / 7, 2 / 7, 3 / 7)"),),
        )
    ),
    DeviceCase(
        Case(
            "launches",
            "TDY402",
            _LAUNCHES,
            (("(64, 64,", "(1024, 1024,"),),
            ("--no-stack", "--no-shapes", "--no-memory"),
        ),
        "t4",
        has_place=False,
    ),
    DeviceCase(
        Case("launch-blocking", "TDY303", _BLOCKING, (('= "1"', '= "0"'),)), "t4", has_place=False
    ),
    _single("SGD", ", momentum=0.9", "fused=True"),
    _single("Adam", "", "fused=True"),
    _single("AdamW", "", "foreach=True"),
    _single("RMSprop", "", "foreach=True"),
    _single("Adagrad", "", "fused=True"),
    _unfused("SGD", ", momentum=0.9"),
    _unfused("Adam"),
    _unfused("AdamW", ", amsgrad=True"),
    _unfused("Adagrad"),
    DeviceCase(Case("layouts", "TDY204", _CONVOLUTIONS, (("range(4)", "range(1)"),))),
    DeviceCase(
        Case(
            "copies-one-by-one",
            "TDY205",
            train(
                "tensors = [torch.randn(64, device='cuda') for _ in range(60)]\n"
                "copies = [torch.empty_like(each) for each in tensors]",
                after="for a, b in zip(copies, tensors):\n        a.copy_(b)  #!",
            ),
            (
                (
                    "for a, b in zip(copies, tensors):\n        a.copy_(b)",
                    "torch._foreach_copy_(copies, tensors)",
                ),
            ),
        )
    ),
    DeviceCase(
        Case(
            "index-on-the-cpu",
            "TDY206",
            train(
                "chosen = torch.tensor([7 * n % 512 for n in range(64)])",
                after="some = inputs[chosen].sum()  #!",
            ),
            (("for n in range(64)])", "for n in range(64)], device='cuda')"),),
        )
    ),
    DeviceCase(
        Case("growing", "TDY801", _GROWING.format(limit="", keep="kept.append(inputs)"), _SAME)
    ),
    DeviceCase(
        Case(
            "short-of-memory",
            "TDY803",
            _GROWING.format(
                limit="torch.cuda.set_per_process_memory_fraction(0.002)", keep="total = inputs[0]"
            ),
            _SAME[:1],
        )
    ),
    DeviceCase(
        Case(
            "graph-that-stays",
            "TDY804",
            _VALIDATED,
            (("total = total + checked", "total = total + checked.detach()"),),
        )
    ),
    DeviceCase(
        Case(
            "empty-cache",
            "TDY802",
            train(
                inputs="inputs = batches[step].repeat(64, 1)", after="torch.cuda.empty_cache()  #!"
            ),
            (("torch.cuda.empty_cache()  #!", "pass"),),
        )
    ),
]
