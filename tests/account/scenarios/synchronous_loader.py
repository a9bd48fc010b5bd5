"""The device waits while each batch is read in the training process."""

import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset[Tensor]):
    def __len__(self) -> int:
        return 8 * 12

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.004)
        return torch.full((64,), index / 96)


device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(64, 8).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in DataLoader(Slow(), batch_size=8):
    model(batch.to(device)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
