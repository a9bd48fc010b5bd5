"""The first step after the warm-up traces the model; the others do not."""

import torch
import torch._dynamo  # else the first call does, which takes as long as to compile
from torch import nn

torch.set_num_threads(1)
model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(4)))
compiled = torch.compile(model, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(256, 64)
optimizer.step()  # what is imported above is before the end of it
for _ in range(8):
    compiled(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
