"""Products of float32 on ordinary cores, or with TF32 allowed."""

import sys

import torch

FIXED = "--fixed" in sys.argv

torch.backends.cuda.matmul.allow_tf32 = FIXED
weight = torch.full((4096, 4096), 0.01, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-3, fused=True)
inputs = torch.randn(1024, 4096, device="cuda")
for _ in range(60):
    loss = (inputs @ weight).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    loss.item()
