"""Loops whose rounds each need what the one before made: see `linked_loops`."""

from .linked_loops import LinkedLoop

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
    LinkedLoop(
        "euler-maruyama-steps",
        """
z, rates = torch.zeros(8, 16), torch.rand(30)
for t in range(30):
    z = z - 0.01 * torch.sin(z) + rates[t] * torch.randn(8, 16)
loss = z.square().mean()
""",
    ),
    LinkedLoop(
        "a-state-that-is-shifted",
        """
h = torch.zeros(8, 16)
for t in range(30):
    h = torch.tanh(series[t] + torch.cat([torch.zeros(8, 1), h[:, :-1]], 1))
loss = h.square().mean()
""",
    ),
    LinkedLoop(
        "indexes-that-are-followed",
        """
at = torch.arange(16)
for t in range(30):
    at = following[t][at]
loss = at.sum()
""",
        "following = torch.randint(0, 16, (30, 16))",
    ),
    LinkedLoop(
        "the-greatest-so-far",
        """
most = torch.zeros(8, 16)
for t in range(30):
    torch.maximum(most, series[t], out=most)
loss = most.square().mean()
""",
    ),
    LinkedLoop(
        "an-average-in-place",
        """
mean = torch.zeros(8, 16)
for t in range(30):
    mean.lerp_(torch.tanh(series[t]), 0.1)
loss = mean.square().mean()
""",
    ),
    LinkedLoop(
        "a-state-beside-rows",
        """
h, rows = torch.ones(8, 16), []
for t in range(30):
    rows.append(torch.tanh(series[t]))
    h = h * 0.9
loss = (torch.stack(rows) * h).square().mean()
""",
    ),
    LinkedLoop(
        "a-state-beside-its-targets",
        """
h, pairs = torch.ones(8, 16), []
for t in range(30):
    h = torch.sin(h)
    pairs.append((h, series[t]))
loss = sum((one - other).square().mean() for one, other in pairs)
""",
    ),
    LinkedLoop(
        "a-state-that-grows",
        """
h = torch.zeros(8, 1)
for t in range(30):
    h = torch.cat([torch.sin(h), series[t, :, :1]], 1)
loss = h.square().mean()
""",
    ),
]
