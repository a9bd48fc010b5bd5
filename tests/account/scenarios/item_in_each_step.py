"""A value is read after a stretch of device work, in every step."""

import torch
from torch import nn

model = nn.Linear(64, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(256, 64, device="cuda")
field = torch.ones(4, 1 << 22, device="cuda")
total = 0.0
for _ in range(12):
    for _ in range(8):
        field.mul_(0.99)
    loss = model(inputs).square().mean() + field[0, 0]
    total += loss.item()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
