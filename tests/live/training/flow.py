"""A normalising flow (RealNVP) on points of a table, with samples drawn now and then."""

import math

import numpy as np
import torch
from torch import nn

DIM = 16


class Coupling(nn.Module):
    def __init__(self, mask, width=128):
        super().__init__()
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(
            nn.Linear(DIM, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 2 * DIM),
        )  # fmt: skip

    def forward(self, x):
        scale, shift = self.net(x * self.mask).chunk(2, -1)
        scale = torch.tanh(scale) * (1 - self.mask)
        z = x * scale.exp() + shift * (1 - self.mask)
        # clean:
        return z, scale.sum(-1)
        # planted log-det-by-dim (TDY404):
        # log_det = torch.zeros(len(x))
        # for d in range(DIM):
        #     log_det = log_det + scale[:, d]  # at: log-det-by-dim
        # return z, log_det
        # end

    def inverse(self, z):
        scale, shift = self.net(z * self.mask).chunk(2, -1)
        scale = torch.tanh(scale) * (1 - self.mask)
        return (z - shift * (1 - self.mask)) * (-scale).exp()


class Flow(nn.Module):
    def __init__(self, depth=6):
        super().__init__()
        masks = [(torch.arange(DIM) % 2 == i % 2).float() for i in range(depth)]
        self.layers = nn.ModuleList(Coupling(mask) for mask in masks)

    def log_prob(self, x):
        total = 0.0
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return total - 0.5 * (x**2).sum(-1) - 0.5 * DIM * math.log(2 * math.pi)

    @torch.no_grad()
    def sample(self, count):
        z = torch.randn(count, DIM, dtype=self.layers[0].net[0].weight.dtype)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def make_table(count):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(count, 4))
    rows = np.sin(hidden @ rng.normal(size=(4, DIM))) + 0.1 * rng.normal(size=(count, DIM))
    # clean:
    return torch.from_numpy(rows.astype(np.float32))
    # planted table-in-doubles (TDY505):
    # return torch.from_numpy(rows)  # at: table-in-doubles
    # end


def main():
    torch.manual_seed(0)
    table = make_table(8192)
    model = Flow().to(table.dtype)  # at: table-in-doubles
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 80)
    for step in range(80):
        batch = table[torch.randint(len(table), (512,))]
        loss = -model.log_prob(batch).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        # clean:
        if step % 20 == 0:
            print(f"step {step} nll {loss.item():.3f} std {model.sample(2048).std().item():.3f}")
        # planted samples-each-step (TDY413):
        # spread = model.sample(2048).std().item()  # fix: samples-each-step
        # if step % 20 == 0:
        #     print(f"step {step} nll {loss.item():.3f} std {spread:.3f}")
        # end


if __name__ == "__main__":
    main()
