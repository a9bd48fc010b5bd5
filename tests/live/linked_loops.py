"""Loops whose rounds hang together: by a sum alone, or each needs what the one before made.

What rounds of both kinds call may be the same, one operator after the other.
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

RECURRENCES = [
    LinkedLoop(
        "an-rnn",
        """
h, out = torch.zeros(8, 16), torch.zeros(8, 16)
for t in range(30):
    h = torch.tanh(series[t] @ layer.weight + h @ table[0])
loss = h.square().mean()
""",
    ),
    LinkedLoop(
        "an-rnn-and-its-losses",
        """
h, loss = torch.zeros(8, 16), 0
for t in range(30):
    h = torch.tanh(series[t] + 0.5 * h)
    loss = loss + h.square().mean()
""",
    ),
    LinkedLoop(
        "residual-layers",
        """
h = series[0]
for t in range(30):
    h = h + torch.tanh(h @ table[t])
loss = layer(h).square().mean()
""",
        "table.requires_grad_()",
    ),
    LinkedLoop(
        "a-scan",
        """
gates, h, states = torch.sigmoid(layer(x)), torch.zeros(16), []
for t in range(30):
    h = gates[t] * h + b[t]
    states.append(h)
loss = torch.stack(states).square().mean()
""",
    ),
    LinkedLoop(
        "a-discounted-sum",
        """
values, total, returns = layer(x).sum(1), torch.zeros(()), []
for t in range(30):
    total = values[t] + 0.99 * total
    returns.append(total)
loss = torch.stack(returns).square().mean()
""",
    ),
    LinkedLoop(
        "a-discounted-sum-of-rows",
        """
values, total, loss = layer(x), torch.zeros(()), 0
for t in range(30):
    total = values[t].sum() + 0.99 * total
loss = total.square()
""",
    ),
    LinkedLoop(
        "an-average",
        """
out, mean = layer(x), torch.zeros(16)
for t in range(30):
    mean = 0.9 * mean + 0.1 * out[t]
loss = mean.square().mean()
""",
    ),
    LinkedLoop(
        "an-average-without-gradients",
        """
out, mean = layer(x), torch.zeros(16)
for t in range(30):
    with torch.no_grad():
        mean = 0.9 * mean + 0.1 * out[t]
loss = (out - mean).square().mean()
""",
    ),
    LinkedLoop(
        "langevin-steps",
        """
z, noise = torch.zeros(8, 16), torch.randn(30, 8, 16)
for t in range(30):
    z = z - 0.01 * layer(z) + 0.1 * noise[t]
loss = z.square().mean()
""",
    ),
    LinkedLoop(
        "the-state-after-the-input",
        """
out, h = layer(x), torch.zeros(16)
for t in range(30):
    h = out[t] + torch.tanh(h)
loss = h.square().mean()
""",
    ),
    LinkedLoop(
        "a-beam",
        """
scores, all_scores = torch.zeros(8), torch.log_softmax(layer(series), -1)
for t in range(30):
    both = scores.unsqueeze(1) + all_scores[t]
    scores = both.view(-1).topk(8)[0]
loss = scores.sum()
""",
    ),
    LinkedLoop(
        "a-hidden-markov-model",
        """
emitted, alpha = layer(x), torch.zeros(16)
for t in range(30):
    alpha = torch.logsumexp(alpha.unsqueeze(1) + table[0], 0) + emitted[t]
loss = -torch.logsumexp(alpha, 0)
""",
    ),
    LinkedLoop(
        "light-through-a-volume",
        """
alpha, passed, loss = torch.sigmoid(layer(x).mean(1)), torch.ones(()), torch.zeros(())
for t in range(30):
    loss = loss + passed * alpha[t]
    passed = passed * (1 - alpha[t])
""",
    ),
    LinkedLoop(
        "euler-steps-of-a-number",
        """
rates, s = layer(x).sum(1), torch.ones(())
for t in range(30):
    s = s + 0.1 * torch.sin(s) * rates[t]
loss = s.square()
""",
    ),
    LinkedLoop(
        "states-in-a-buffer",
        """
with torch.no_grad():
    states = torch.zeros(31, 8, 16)
    for t in range(30):
        states[t + 1] = torch.tanh(states[t] * 0.5 + series[t])
loss = layer(states[-1]).square().mean()
""",
    ),
    LinkedLoop(
        "a-state-that-is-detached",
        """
h, loss = torch.zeros(8, 16), 0
for t in range(30):
    h = torch.tanh(series[t] * b[t] + h.detach() @ table[0])
    loss = loss + h.mean()
""",
    ),
    LinkedLoop(
        "an-average-of-losses",
        """
out, loss = layer(x), torch.zeros(())
for i in range(30):
    loss = 0.9 * loss + 0.1 * F.mse_loss(out[i], y[i])
""",
    ),
]
