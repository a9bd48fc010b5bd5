"""A network that solves the heat equation: its derivatives are part of the loss."""

import math

import torch
from torch import nn

ALPHA = 0.1


class Field(nn.Module):
    def __init__(self, width=64, depth=4):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.stack([x, t], 1)).squeeze(1)


def derivative(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def residual(field, x, t):
    x, t = x.requires_grad_(), t.requires_grad_()
    u = field(x, t)
    # clean:
    (u_x, u_t) = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    # planted derivative-by-derivative (TDY708):
    # u_x = derivative(field(x, t), x)  # at: derivative-by-derivative
    # u_t = derivative(field(x, t), t)  # at: derivative-by-derivative
    # end
    return u_t - ALPHA * derivative(u_x, x)


def collocation_points(count):
    # clean:
    return torch.rand(count), torch.rand(count)
    # planted points-by-cat (TDY401, TDY408):
    # x, t = torch.empty(0), torch.empty(0)
    # for _ in range(count):
    #     x = torch.cat([x, torch.rand(1)])  # at: points-by-cat
    #     t = torch.cat([t, torch.rand(1)])  # at: points-by-cat
    # return x, t
    # end


def exact(x, t):
    return torch.exp(-ALPHA * math.pi**2 * t) * torch.sin(math.pi * x)


def main():
    torch.manual_seed(0)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
    edge = torch.linspace(0, 1, 64)
    zeros, ones = torch.zeros(64), torch.ones(64)
    start = exact(edge, zeros)
    for step in range(24):
        x, t = collocation_points(1024)
        equation = residual(field, x, t).square().mean()
        initial = (field(edge, zeros) - start).square().mean()
        boundary = (field(zeros, edge).square() + field(ones, edge).square()).mean()
        loss = equation + 10 * initial + boundary
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 6 == 0:
            print(f"step {step} equation {equation.item():.4f} initial {initial.item():.4f}")
    with torch.no_grad():
        x, t = torch.rand(2, 1000)
        error = (field(x, t) - exact(x, t)).abs().mean()
    print(f"mean error {error.item():.4f}")


if __name__ == "__main__":
    main()
