"""Small scripts that look like a mistake and are none, for tidy.runtime and for PyTorch on a CPU.

Each has what its rule looks at, and is fine for the reason that its name tells. Those that need a
device are in device_look_alikes.py and parallel_look_alikes.py; what PyTorch alone records is in
pytorch_look_alikes.py.
"""

from collections.abc import Mapping
from typing import NamedTuple

from .cases import each_step


class LookAlike(NamedTuple):
    """A script on which a rule finds nothing.

    Attributes:
        code: of the rule.
        name: why it is fine.
        script: for PyTorch, as those in cases.py.
        sees: names of what the rule looks at, and how many of each there are at least.
        device: what it runs on; "" for the CPU.
        option: what `tidy run --name` would be given.
    """

    code: str
    name: str
    script: str
    sees: Mapping[str, int]
    device: str = ""
    option: str | None = None


_NAMES = """\
import torch

x = torch.ones(8)
for _ in range(3):
    {}
"""

_SAMPLES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

batch = torch.ones(32, 8)
model = nn.GRUCell(8, 8)

class Rows(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return batch[i : i + 1].tanh()

for _ in range(3):
    {}
"""

_LOADER = """\
import time
import torch
from torch.utils.data import DataLoader, Dataset

def tokenize(text):
    return [ord(letter) % 97 for letter in text]

class Lines(Dataset):
    def __init__(self):
        self.lines = ["the quick brown fox jumps over the lazy dog"] * 24
        {before}

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return torch.tensor({item}, dtype=torch.float32)

weight = torch.ones(43, 64, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.001)
{in_between}
for batch in {batches}:
    optimizer.zero_grad()
    {inputs}
    (batch @ weight).sum().backward()
    optimizer.step()
"""
_TOKENS = "[each for each in self.tokens[index]]"
_STORED = "self.tokens = [tokenize(line) for line in self.lines]"


def _loader(
    before: str = _STORED,
    item: str = _TOKENS,
    batches: str = "DataLoader(Lines(), batch_size=4)",
    inputs: str = "",
    in_between: str = "",
) -> str:
    return _LOADER.format(
        before=before, item=item, batches=batches, inputs=inputs, in_between=in_between
    )


_VALIDATES = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[each for _ in range(8) for each in (nn.Linear(8, 8), nn.Tanh())]).eval()
inputs = torch.randn(16, 8, requires_grad=True)
for _ in range(3):
    {}
"""

# A dense block, as of DenseNet, and words that are chosen one after the other.
_DENSE = """\
import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(8 + 4 * i, 4) for i in range(14)])
optimizer = torch.optim.SGD(layers.parameters(), lr=0.001)
for step in range(3):
    optimizer.zero_grad()
    x = torch.ones(16, 8)
    for layer in layers:
        x = torch.cat([x, layer(x).tanh()], -1)
    x.sum().backward()
    optimizer.step()
"""
_DECODES = """\
import torch
from torch import nn

words, scores = nn.Embedding(50, 16), nn.Linear(16, 50)
with torch.no_grad():
    for _ in range(3):
        chosen = torch.zeros(1, 1, dtype=torch.long)
        for i in range(30):
            best = scores(words(chosen).mean(1)).argmax(-1, keepdim=True)
            chosen = torch.cat([chosen, best], 1)
"""

_CACHES = """\
import torch
from torch import nn
places, project = nn.Embedding(32, 8), nn.Linear(8, 8)
keys, x = torch.zeros(4, 32, 8), torch.ones(4, 1, 8)
with torch.no_grad():
    for i in range(32):
        keys[:, i : i + 1] = project(x + places.weight[i : i + 1])
        x = (x @ keys[:, : i + 1].transpose(1, 2)).softmax(-1) @ keys[:, : i + 1]
"""

_COLLECTS = """\
import gc
import torch

class Metrics:
    def collect(self):
        return torch.ones(8).sum()

metrics = Metrics()
weight = torch.ones(64, 64, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
{before}
for step in range(5):
    optimizer.zero_grad()
    (weight @ weight).sum().backward()
    {after}
    optimizer.step()
"""

_CASTS = {"aten::to": 8, "aten::copy_": 8}

_LISTS = "\nlists = [[float(i + j) for j in range(8)] for i in range(32)]"
_MADE = {"aten::lift_fresh": 128, "aten::stack": 4}
_READ_AND_MADE = {"aten::resolve_conj": 4, "aten::lift_fresh": 4}

LOOK_ALIKES = [
    LookAlike(
        "TDY000",
        "no-name-begins-so",
        _NAMES.format("torch.cumsum(x, 0)"),
        {"aten::cumsum": 3},
        option="^cumsum",
    ),
    LookAlike(
        "TDY000",
        "no-name-ends-so",
        _NAMES.format("x.mul_(1.5)"),
        {"aten::mul_": 3},
        option="aten::mul$",
    ),
    LookAlike(
        "TDY000",
        "a-word-of-its-own",
        _NAMES.format("x.exp_()"),
        {"aten::exp_": 3},
        option=r"\bexp\b",
    ),
    LookAlike(
        "TDY105",
        "stored-before",
        _loader(),
        {"*: tokenize": 24, "enumerate(DataLoader)#_Single*": 6},
    ),
    LookAlike(
        "TDY105",
        "in-the-step-itself",
        _loader(inputs="tokenize('the lazy dog')"),
        {"*: tokenize": 30, "enumerate(DataLoader)#_Single*": 6},
    ),
    LookAlike(
        "TDY105",
        "a-small-part-of-an-item",
        _loader(item="tokenize(self.lines[index])[:0] + [time.sleep(0.002) or 1.0] * 43"),
        {"*: tokenize": 48, "enumerate(DataLoader)#_Single*": 6},
    ),
    LookAlike(
        "TDY203",
        "computed-in-between",
        each_step("out = torch.tanh(values.double()).float()"),
        _CASTS,
    ),
    LookAlike(
        "TDY203",
        "two-tensors-that-meet",
        each_step(
            "wide, narrow = values.double(), stored.float()\n"
            "    out = wide.square() + narrow.square()",
            "stored = torch.randn(64, 512, dtype=torch.float64)",
        ),
        _CASTS,
    ),
    LookAlike(
        "TDY203",
        "the-weight-is-trained",
        each_step(
            "out = F.linear(values, frozen.float())",
            "frozen.requires_grad_()\noptimizer.add_param_group({'params': [frozen]})",
        ),
        {"aten::to": 4, "aten::linear": 4},
    ),
    LookAlike(
        "TDY203",
        "the-input-is-cast",
        each_step("out = F.linear(values.double(), frozen)"),
        {"aten::to": 4, "aten::linear": 4},
    ),
    LookAlike(
        "TDY204",
        "a-view-needs-it",
        each_step("out = pairs.transpose(1, 2).contiguous().view(4, -1) @ torch.ones(6144)"),
        {"aten::transpose": 4, "aten::clone": 4, "aten::view": 4},
    ),
    LookAlike(
        "TDY204",
        "a-view-needs-it-after-the-product",
        each_step(
            "copied = pairs.transpose(1, 2).contiguous()\n"
            "    out = torch.bmm(pairs, copied)\n"
            "    flat = copied.view(4, -1)"
        ),
        {"aten::transpose": 4, "aten::clone": 4, "aten::bmm": 4},
    ),
    LookAlike(
        "TDY204",
        "nothing-is-copied",
        each_step("out = torch.bmm(pairs, pairs.contiguous().transpose(1, 2))"),
        {"aten::transpose": 4, "aten::bmm": 4},
    ),
    LookAlike(
        "TDY405",
        "before-the-steps",
        _COLLECTS.format(before="gc.collect()", after="pass"),
        {"<built-in function collect>": 1},
    ),
    LookAlike(
        "TDY405",
        "in-one-step",
        _COLLECTS.format(before="pass", after="step == 3 and gc.collect()"),
        {"<built-in function collect>": 1},
    ),
    LookAlike(
        "TDY405",
        "what-collects-is-no-garbage-collector",
        _COLLECTS.format(before="gc.collect()", after="metrics.collect()"),
        {"<built-in function collect>": 1, "*: collect": 5},
    ),
    LookAlike(
        "TDY406",
        "pairs-of-samples",
        _SAMPLES.format("for i in range(16):\n        batch[2 * i : 2 * i + 2].tanh() * 2"),
        {"aten::slice": 48, "aten::tanh": 48},
    ),
    LookAlike(
        "TDY406",
        "rows-that-are-read",
        _SAMPLES.format("for row in batch:\n        row.to(torch.float64).tolist()"),
        {"aten::unbind": 3},
    ),
    LookAlike(
        "TDY406",
        "a-decoder-reads-what-it-has-cached",
        _CACHES,
        {"aten::slice": 120, "aten::linear": 32},
    ),
    LookAlike(
        "TDY406",
        "prepared-once-before-the-steps",
        each_step("out = weight.square()", "\nrows = [row.sum() * 2 for row in torch.ones(8, 4)]"),
        {"aten::unbind": 1},
    ),
    LookAlike(
        "TDY406",
        "items-of-a-data-set",
        _SAMPLES.format("for rows in DataLoader(Rows(), batch_size=32):\n        rows.sum()"),
        {"aten::slice": 96, "aten::tanh": 96},
    ),
    LookAlike(
        "TDY407",
        "what-a-loader-does-is-the-loaders",
        _loader("pass", "tokenize(self.lines[index])"),
        {"*: tokenize": 24},
    ),
    LookAlike(
        "TDY407",
        "before-the-steps",
        _loader(batches="list(DataLoader(Lines(), batch_size=4))"),
        {"*: tokenize": 24},
    ),
    LookAlike(
        "TDY407",
        "a-small-part-of-the-step",
        _loader(inputs="tokenize('the fox'); time.sleep(0.05)"),
        {"*: tokenize": 30},
    ),
    LookAlike("TDY408", "each-layer-reads-all-before-it", _DENSE, {"aten::cat": 42}),
    LookAlike("TDY408", "each-word-needs-all-before-it", _DECODES, {"aten::cat": 90}),
    LookAlike(
        "TDY702",
        "gradients-of-the-inputs-are-used",
        _VALIDATES.format("torch.autograd.grad(model(inputs).sum(), inputs)"),
        {"aten::linear": 24},
    ),
    LookAlike(
        "TDY702",
        "without-gradients",
        _VALIDATES.format("with torch.inference_mode():\n        model(inputs).sum().item()"),
        {"aten::linear": 24, "aten::item": 3},
    ),
    LookAlike(
        "TDY702",
        "trained-in-the-same-step",
        _VALIDATES.format(
            "loss = model(inputs).sum()\n    shown = loss.item()\n    loss.backward()"
        ),
        {"aten::linear": 24, "aten::item": 3},
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
