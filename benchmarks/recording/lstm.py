"""Two LSTM cells, written out, that predict a wave."""

import math

from framework import nn, torch


class Cell(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Linear(size + hidden, 4 * hidden)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.gates(torch.cat((x, h), dim=1)).split(self.hidden, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


first, second, linear = Cell(1, 32), Cell(32, 32), nn.Linear(32, 1)
modules = nn.ModuleList([first, second, linear])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
wave = torch.tensor([[math.sin((t + 9 * i) / 5) for t in range(41)] for i in range(16)])


def predict(waves):
    h1, c1, h2, c2 = (torch.zeros(16, 32) for _ in range(4))
    outputs = []
    for t in range(waves.shape[1]):
        h1, c1 = first(waves[:, t : t + 1], (h1, c1))
        h2, c2 = second(h1, (h2, c2))
        outputs.append(linear(h2))
    return torch.cat(outputs, dim=1)


for step in range(40):
    loss = ((predict(wave[:, :-1]) - wave[:, 1:]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step}: {loss.item():.4f}")
