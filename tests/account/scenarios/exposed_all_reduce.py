"""Gradients of two devices meet in one bucket, when backward is over."""

import torch
from torch import nn

model = nn.Linear(4096, 4096, bias=False).to("cuda")
parallel = nn.parallel.DistributedDataParallel(model, device_ids=[0, 1], bucket_cap_mb=100)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(4, 4096, device="cuda")
for _ in range(6):
    parallel(inputs).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
