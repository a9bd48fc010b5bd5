"""A straight line, fitted by hand: gradients, but no optimizer."""

from framework import torch

x = torch.randn(1000, 8)
y = x @ torch.arange(8.0).view(8, 1) + 0.1 * torch.randn(1000, 1)
w = torch.zeros(8, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(1500):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.02 * w.grad
        b -= 0.02 * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if epoch % 300 == 0:
        print(f"{epoch}: {loss.item():.4f}")
