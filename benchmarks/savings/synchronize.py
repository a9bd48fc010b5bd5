"""Each step ends with torch.cuda.synchronize(), or the host prepares the next one meanwhile."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

model = nn.Sequential(*(nn.Linear(16, 16) for _ in range(16))).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
small, large = torch.randn(16, 16, device="cuda"), torch.randn(16, 1 << 20, device="cuda")
for _ in range(60):
    model(small).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    for _ in range(4):
        large.mul_(0.9)
    if not FIXED:
        torch.cuda.synchronize()
