"""Meta learning (MAML): sine waves from ten points each, learned in one gradient step."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def make_net(width=64):
    return nn.Sequential(
        nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
    )


def tasks(count, shots=10):
    """Return points of sine waves, half to learn from: (count, 2 * shots, 1) each."""
    # clean:
    height = 0.1 + 4.9 * torch.rand(count, 1, 1)
    phase = math.pi * torch.rand(count, 1, 1)
    x = 10 * torch.rand(count, 2 * shots, 1) - 5
    return x, height * torch.sin(x + phase)
    # planted point-by-point (TDY411):
    # xs, ys = [], []
    # for _ in range(count):
    #     height, phase = 0.1 + 4.9 * torch.rand(1), math.pi * torch.rand(1)
    #     x = [10 * torch.rand(1).item() - 5 for _ in range(2 * shots)]  # at: point-by-point
    #     xs.append(torch.tensor(x)[:, None])  # at: point-by-point
    #     y = [height * math.sin(v + phase) for v in x]  # at: point-by-point
    #     ys.append(torch.tensor(y)[:, None])
    # return torch.stack(xs), torch.stack(ys)  # at: point-by-point
    # end


def adapted(net, params, x, y, lr=0.01):
    loss = F.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
    return {name: p - lr * g for (name, p), g in zip(params.items(), grads)}


def main():
    torch.manual_seed(0)
    net = make_net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    losses = []
    for step in range(60):
        x, y = tasks(16)
        params = dict(net.named_parameters())
        total = 0.0
        for i in range(len(x)):
            fast = adapted(net, params, x[i, :10], y[i, :10])
            total = total + F.mse_loss(functional_call(net, fast, (x[i, 10:],)), y[i, 10:])
        loss = total / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0:
            best = copy.deepcopy(net.state_dict())
    print(f"loss {sum(losses[-10:]) / 10:.3f}, {len(best)} tensors kept")


if __name__ == "__main__":
    main()
