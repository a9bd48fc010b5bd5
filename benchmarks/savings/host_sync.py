"""A loss is read in each step, or kept on the device.

The host prepares the next batch after it: only where it does not wait can both be busy.
"""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

model = nn.Sequential(*(nn.Linear(16, 16) for _ in range(16))).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
small, large = torch.randn(16, 16, device="cuda"), torch.randn(16, 1 << 20, device="cuda")
losses = []
for _ in range(60):
    for _ in range(4):
        large.mul_(0.9)
    losses.append(large[0, 0] if FIXED else large[0, 0].item())
    model(small).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
