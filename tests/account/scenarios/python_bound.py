"""A loop of plain Python between ops.

Each round of it is long and calls nothing: what is recorded of a round (a line, and with PyTorch
each call) must not take longer than the round.
"""

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(64, 8).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(256, 64, device=device)
modulus = 2**8191 - 1
number = 3**5000
for _ in range(8):
    for _ in range(200):
        number = number * number % modulus
    (model(inputs).square().mean() * (number % 2 + 1)).backward()
    optimizer.step()
    optimizer.zero_grad()
