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
    attempts: int = 1  # of which one has to give the finding

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
samples = [torch.randn(512, 64) for _ in range(6)]
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


def _train(
    before: str = "",
    inputs: str = "inputs = batches[step]",
    after: str = "",
    optimizer: str = "SGD(model.parameters(), lr=0.01)",
    update: str = "optimizer.step()",
) -> str:
    return _TRAIN.format(
        before=before, inputs=inputs, after=after, optimizer=optimizer, update=update
    )


def _extra(name: str, made: str) -> DeviceCase:
    """`made` has {to}, where it is copied, and {on}, what makes it on the device."""
    wrong = made.format(to='.to("cuda")', on="")
    right = made.format(to="", on=', device="cuda"')
    inputs = f"inputs = batches[step] + {wrong}  #!"
    return DeviceCase(Case(f"extra-{name}", "TDY201", _train(inputs=inputs), ((wrong, right),)))


def _sync(name: str, wrong: str, right: str, before: str = "") -> DeviceCase:
    case = Case(f"sync-{name}", "TDY301", _train(before, after=f"{wrong}  #!"), ((wrong, right),))
    return DeviceCase(case)


def _single(kind: str, options: str, instead: str) -> DeviceCase:
    optimizer = f"{kind}(model.parameters(), lr=0.01{options}, foreach=False)"
    text = _train(optimizer=optimizer, update="optimizer.step()  #!")
    name = f"single-{kind}-{instead.partition('=')[0]}"
    return DeviceCase(Case(name, "TDY601", text, (("foreach=False", instead),)))


def _unfused(kind: str, options: str = "") -> DeviceCase:
    optimizer = f"{kind}(model.parameters(), lr=0.01{options}, foreach=True)"
    text = _train(optimizer=optimizer, update="optimizer.step()  #!")
    return DeviceCase(Case(f"unfused-{kind}", "TDY602", text, (("foreach=True", "fused=True"),)))


_PINNED = "samples = [each.pin_memory() for each in samples]"

_PRODUCT = """\
import torch

weight = torch.full(({inner}, 64), 0.01, device="cuda", dtype=torch.{dtype}, requires_grad=True)
inputs = torch.ones(256, {inner}, device="cuda", dtype=torch.{dtype})
optimizer = torch.optim.SGD([weight], lr=0.001)
for step in range(4):
    scores = inputs @ weight  #!
    scores.mean().backward()
    optimizer.step()
"""

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
_SAME = (("12288 + 4096 * step", "12288"), ("kept.append(inputs)", "pass"))

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

model = nn.Sequential(nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1024)).to("cuda")
parallel = nn.parallel.DistributedDataParallel(model, device_ids=[0, 1], bucket_cap_mb=100)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(16, 1024, device="cuda")
for step in range(5):
    optimizer.zero_grad()
    parallel(inputs).sum().backward()  #!
    optimizer.step()
"""

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
        Case("exposed", "TDY901", _REDUCED, (("1024", "64"),)),
        "t4:2",
    ),
]

CASES = [
    DeviceCase(
        Case(
            "loader",
            "TDY101",
            _LOADER,
            (("shuffle=True", "shuffle=True, num_workers=2, pin_memory=True"),),
        )
    ),
    DeviceCase(
        Case(
            "unpinned",
            "TDY103",
            _train(inputs='inputs = samples[step].to("cuda")  #!'),
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
            _train(_PINNED, 'inputs = samples[step].to("cuda")  #!'),
            (('.to("cuda")  #!', '.to("cuda", non_blocking=True)'),),
        )
    ),
    DeviceCase(
        Case(
            "blocking-cuda",
            "TDY104",
            _train(_PINNED, "inputs = samples[step].cuda()  #!"),
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
            _train(
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
            _train(after="torch.cuda.synchronize()  #!"),
            (("torch.cuda.synchronize()  #!", "pass"),),
        )
    ),
    DeviceCase(
        Case(
            "synchronize-stream",
            "TDY302",
            _train(after="torch.cuda.current_stream().synchronize()  #!"),
            (("torch.cuda.current_stream().synchronize()  #!", "pass"),),
        )
    ),
    DeviceCase(
        Case(
            "scalars",
            "TDY304",
            _train(
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
        attempts=3,  # on a busy machine a script may stop often enough to be bound by that
    ),
    DeviceCase(
        Case(
            "float32",
            "TDY501",
            _PRODUCT.format(inner=64, dtype="float32"),
            (("weight =", 'torch.set_float32_matmul_precision("high")\nweight ='),),
        )
    ),
    DeviceCase(Case("half", "TDY503", _PRODUCT.format(inner=63, dtype="float16"), (("63", "64"),))),
    DeviceCase(
        Case(
            "float64",
            "TDY505",
            _PRODUCT.format(inner=64, dtype="float64"),
            (("float64", "float32"),),
        )
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
    DeviceCase(
        Case("growing", "TDY801", _GROWING.format(limit="", keep="kept.append(inputs)"), _SAME)
    ),
    DeviceCase(
        Case(
            "short-of-memory",
            "TDY801",
            _GROWING.format(
                limit="torch.cuda.set_per_process_memory_fraction(0.002)", keep="total = inputs[0]"
            ),
            _SAME[:1],
        )
    ),
    DeviceCase(
        Case(
            "empty-cache",
            "TDY802",
            _train(
                inputs="inputs = batches[step].repeat(64, 1)", after="torch.cuda.empty_cache()  #!"
            ),
            (("torch.cuda.empty_cache()  #!", "pass"),),
        )
    ),
]
