"""Loops whose rounds share nothing, or a sum alone.

What they call may be the same as in recurrences, one operator after the other.
"""

from typing import NamedTuple

_SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
x, y = torch.randn(32, 16), torch.randn(32, 16)
series, table = torch.randn(30, 8, 16), torch.randn(30, 16, 16) * 0.1
layer, wide = nn.Linear(16, 16), nn.Linear(16, 96)
a, b = nn.Parameter(torch.rand(30)), nn.Parameter(torch.randn(30, 16))
{setup}
params = [*layer.parameters(), *wide.parameters(), a, b]
optimizer = torch.optim.SGD(params, lr=0.001)
for step in range(4):
    optimizer.zero_grad()
{body}
    loss = loss + layer(x).square().mean()
    loss.backward()
    optimizer.step()
"""


class LinkedLoop(NamedTuple):
    """A loop in a training step, which makes `loss`."""

    name: str
    body: str
    setup: str = ""

    @property
    def script(self) -> str:
        """The script, for PyTorch."""
        body = "\n".join("    " + line for line in self.body.strip().splitlines())
        return _SCRIPT.format(setup=self.setup, body=body)


SUMS = [
    LinkedLoop(
        "loss-of-each-sample",
        """
out, loss = layer(x), 0
for i in range(32):
    loss = loss + F.mse_loss(out[i], y[i])
""",
    ),
    LinkedLoop(
        "dice-of-each-class",
        """
p, truth = torch.softmax(layer(x), 1), y.sigmoid()
loss = 0
for c in range(16):
    both = (p[:, c] * truth[:, c]).sum()
    loss = loss + 1 - (2 * both + 1) / (p[:, c].sum() + truth[:, c].sum() + 1)
""",
    ),
    LinkedLoop(
        "contrast-of-each-pair",
        """
z = F.normalize(layer(x), dim=1)
loss = 0
for i in range(32):
    loss = loss - torch.log(torch.sigmoid((z[i] * y[i]).sum()))
""",
    ),
    LinkedLoop(
        "kernel-by-pairs",
        """
z = layer(x)
loss = torch.zeros(())
for i in range(12):
    for j in range(12):
        loss = loss + torch.exp(-(z[i] - z[j]).pow(2).sum())
""",
    ),
    LinkedLoop(
        "each-tree",
        """
gates = torch.sigmoid(layer(x))
out = torch.zeros(32)
for t in range(16):
    out = out + gates[:, t] * a[t] + (1 - gates[:, t]) * a[t]
loss = out.square().mean()
""",
    ),
    LinkedLoop(
        "each-ray",
        """
out, loss = layer(series), 0
for r in range(30):
    weight = torch.exp(-series[r, :, 0])
    seen = (weight.unsqueeze(1) * torch.sigmoid(out[r])).sum(0)
    loss = loss + (seen - b[r]).square().sum()
""",
    ),
    LinkedLoop(
        "loss-of-each-time-step",
        """
out, loss = torch.tanh(layer(series)).transpose(0, 1), 0
for t in range(30):
    loss = loss + F.cross_entropy(out[:, t], classes[:, t])
""",
        "classes = torch.randint(0, 16, (8, 30))",
    ),
    LinkedLoop(
        "each-patch",
        """
out, loss = layer(series).view(6, 5, 8, 16), 0
for i in range(6):
    for j in range(5):
        loss = loss + (out[i, j] - truth[i, j]).abs().mean()
""",
        "truth = torch.randn(6, 5, 8, 16)",
    ),
    LinkedLoop(
        "rows-of-the-size-of-the-sum",
        """
out, total = layer(x), torch.zeros(16)
for i in range(32):
    total = total + torch.tanh(out[i])
loss = total.sum()
""",
    ),
]

# Rounds that share nothing.
APART = [
    LinkedLoop(
        "rows-with-noise",
        """
rows = []
for t in range(30):
    rows.append(torch.tanh(series[t]) + 0.1 * torch.randn(8, 16))
loss = torch.stack(rows).square().mean()
""",
    ),
    LinkedLoop(
        "rows-with-padding",
        """
rows = []
for t in range(30):
    rows.append(torch.cat([torch.zeros(8, 1), torch.sin(series[t])], 1))
loss = torch.stack(rows).square().mean()
""",
    ),
    LinkedLoop(
        "into-rows-of-a-buffer",
        """
rows = torch.zeros(30, 8, 16)
for t in range(30):
    torch.maximum(series[t], others[t], out=rows[t])
loss = rows.square().mean()
""",
        "others = torch.randn(30, 8, 16)",
    ),
]

# Sums of products, which a trace does not tell from recurrences.
SUMS_OF_PRODUCTS = [
    LinkedLoop(
        "attention-of-each-head",
        """
q = wide(x).view(32, 12, 8).transpose(0, 1)
out = torch.zeros(32, 8)
for h in range(12):
    out = out + torch.softmax(q[h] @ q[h].transpose(0, 1), -1) @ q[h]
loss = out.square().mean()
""",
    ),
    LinkedLoop(
        "each-expert",
        """
gate, out = torch.softmax(layer(x), 1), torch.zeros(32, 24)
for e in range(16):
    out = out + gate[:, e].unsqueeze(1) * (x @ experts[e])
loss = out.square().mean()
""",
        "experts = torch.randn(16, 16, 24, requires_grad=True)",
    ),
]
