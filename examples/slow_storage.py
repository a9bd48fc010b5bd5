"""Train on samples from storage that answers slowly, with one mistake: nobody reads ahead.

Each sample waits for the storage, and the training waits for each sample. Worker processes wait in
its place, which costs no processor, so that steps are much shorter on any machine:

    tidy verify --finding TDY101 examples/slow_storage.py
"""

from __future__ import annotations

import time

import tidy.runtime as torch
from tidy.runtime import Tensor, nn
from tidy.runtime.utils.data import DataLoader, Dataset

BATCH, FEATURES, STEPS, WAIT_S = 16, 32, 30, 0.002


class Stored(Dataset[tuple[Tensor, Tensor]]):
    """Samples that take two milliseconds each to come."""

    def __len__(self) -> int:
        return BATCH * STEPS

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        time.sleep(WAIT_S)  # where a file would be read
        return torch.full((FEATURES,), index / len(self)), torch.tensor([float(index % 2)])


def train() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for samples, labels in DataLoader(Stored(), batch_size=BATCH):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(samples), labels)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
