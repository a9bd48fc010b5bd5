"""Copies from pinned memory that the host waits for; or that run beside its work."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

model = nn.Linear(8192, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
batches = [torch.randn(256, 8192).pin_memory() for _ in range(4)]
for step in range(60):
    inputs = batches[step % 4].to("cuda", non_blocking=FIXED)
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
