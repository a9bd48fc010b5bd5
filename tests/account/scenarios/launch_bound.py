"""Many small ops, each of which takes longer to launch than to run."""

import torch

weight = torch.randn(32, 32, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-3)
for _ in range(12):
    values = weight
    for _ in range(30):
        values = values.std(0, keepdim=True).expand(32, 32)
    values.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
