"""Batches come from ordinary memory, and the host waits for each copy; or from pinned memory."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

model = nn.Linear(8192, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
batches = [torch.randn(256, 8192) for _ in range(4)]
if FIXED:
    batches = [batch.pin_memory() for batch in batches]
for step in range(60):
    inputs = batches[step % 4].to("cuda", non_blocking=FIXED)
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
