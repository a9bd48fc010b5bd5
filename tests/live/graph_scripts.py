"""Scripts that record gradients which no backward uses, or keep what a backward has used."""

VALIDATION = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[each for _ in range(8) for each in (nn.Linear(8, 8), nn.Tanh())]).eval()
inputs = torch.randn(16, 8)
for _ in range(3):
    score = model(inputs).sum().detach().item()  #!
"""

NO_GRADIENTS = "with torch.no_grad():\n        score = model(inputs).sum().detach().item()"

VALIDATED = """\
import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(12)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, score = torch.ones(32, 16), 0.0
for _ in range(8):
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    score += model(inputs).sum().item()  #!
    optimizer.step()
"""

KEPT_GRAPH = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, total = torch.ones(2048, 32), 0.0
for _ in range(12):
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    total = total + loss  #!
"""
