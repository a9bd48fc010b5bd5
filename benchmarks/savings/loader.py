"""A DataLoader without workers reads slow storage while training waits; or workers read it."""

import sys
import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Stored(Dataset[Tensor]):
    """Samples that take a millisecond each to read."""

    def __len__(self) -> int:
        return 16 * 60

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.001)
        return torch.full((256,), index / 512)


model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(8))).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loader = DataLoader(Stored(), batch_size=16, num_workers=2 if FIXED else 0)
for batch in loader:
    model(batch.to(DEVICE).repeat(16, 1)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
