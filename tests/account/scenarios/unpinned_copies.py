"""Large batches are copied from ordinary memory."""

import torch
from torch import nn

model = nn.Linear(8192, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batches = torch.randn(2, 1024, 8192)
for step in range(10):
    model(batches[step % 2].to("cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
