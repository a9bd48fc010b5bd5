"""One worker is too slow for the training; or there are enough of them."""

import sys
import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv


class Stored(Dataset[Tensor]):
    """Samples that take one and a half milliseconds each to read."""

    def __len__(self) -> int:
        return 16 * 60

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.0015)
        return torch.full((256,), index / 512)


model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(8)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loader = DataLoader(Stored(), batch_size=16, num_workers=4 if FIXED else 1)
for batch in loader:
    model(batch.repeat(16, 1)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
