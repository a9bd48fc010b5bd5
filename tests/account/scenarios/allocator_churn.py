"""Memory is given back to the driver after each part of the step, and taken again."""

import torch

weight = torch.ones(64, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-3)
for _ in range(10):
    for _ in range(4):
        batches = [torch.empty(1 << 22, device="cuda") for _ in range(24)]
        batches[0].fill_(1.0)
        del batches
        torch.cuda.empty_cache()
    (weight * 2).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
