"""A denoiser that is given its own guess, with clipping by hand and an average of its weights."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
WIDTH, ROWS, TIMES = 64, 64, 100


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(TIMES, WIDTH)
        self.first, self.last = nn.Linear(2 * WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.blocks = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(6)])

    def forward(self, noisy, time, guess):
        hidden = self.first(torch.cat([noisy + self.time(time), guess], 1))
        for block in self.blocks:
            hidden = hidden + F.silu(block(hidden))
        return self.last(hidden)


def prepared(rows):
    """Half of the rows are turned round."""
    # clean:
    turned = rows[:, :1] > 0
    return torch.where(turned, rows.flip(1), rows * 0.9)
    # planted turned-row-by-row (TDY406):
    # out = []
    # for row in rows:  # at: turned-row-by-row
    #     if row[0] > 0:
    #         row = row.flip(0)
    #     else:
    #         row = row * 0.9
    #     out.append(row)
    # return torch.stack(out)
    # end


def main():
    net = Denoiser()
    average = torch.optim.swa_utils.AveragedModel(net, use_buffers=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, foreach=True)
    data, kept = torch.randn(4096, WIDTH), torch.linspace(0.99, 0.01, TIMES)
    for _ in range(40):
        clean = prepared(data[torch.randint(0, len(data), (ROWS,))])
        time = torch.randint(0, TIMES, (ROWS,))
        part = kept[time][:, None]
        noisy = part.sqrt() * clean + (1 - part).sqrt() * torch.randn_like(clean)
        with torch.no_grad():
            guess = net(noisy, time, torch.zeros_like(noisy))
        optimizer.zero_grad()
        # planted half-is-thrown-away (TDY709):
        # first = F.mse_loss(net(noisy[:32], time[:32], guess[:32]), clean[:32])
        # first.backward()  # at: half-is-thrown-away
        # optimizer.zero_grad()
        # end
        F.mse_loss(net(noisy, time, guess), clean).backward()
        gradients = [each.grad for each in net.parameters()]
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        torch._foreach_mul_(gradients, (1 / norm).clamp(max=1))
        optimizer.step()
        average.update_parameters(net)


main()
