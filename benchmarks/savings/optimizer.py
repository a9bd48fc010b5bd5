"""Adam updates one tensor after the other, or all in one op."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(40))).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=FIXED)
inputs = torch.randn(64, 64).to(DEVICE)
for _ in range(60):
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
