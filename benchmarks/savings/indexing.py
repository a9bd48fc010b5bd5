"""A batch is scaled row by row, or at once."""

import sys

import torch
from torch import Tensor, nn

FIXED = "--fixed" in sys.argv
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def scaled(rows: Tensor) -> Tensor:
    if FIXED:
        return rows / 255
    result = torch.empty(rows.shape, device=DEVICE)
    for i in range(len(rows)):
        result[i] = rows[i] / 255
    return result


model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(512, 256).to(DEVICE)
for _ in range(60):
    model(scaled(inputs)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
