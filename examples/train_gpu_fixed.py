"""The training of `train_gpu.py` without its mistakes.

tidy run --device a100 examples/train_gpu_fixed.py
"""

from __future__ import annotations

import random

import tidy.runtime as torch
from tidy.runtime import Tensor, nn
from tidy.runtime.utils.data import DataLoader, Dataset

BATCH, CLASSES, FEATURES, SAMPLES, WIDTH = 64, 10, 512, 768, 1024
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Readings(Dataset[tuple[Tensor, int]]):
    """Vectors around the centre of their class, from a sensor that is slow to read."""

    def __init__(self) -> None:
        self.centres = torch.randn(CLASSES, FEATURES)

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        label = index % CLASSES
        offset = random.gauss(0, 0.2)
        return self.centres[label] + offset, label


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Linear(FEATURES, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, CLASSES),
    )


def train() -> None:
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = make_model().to(DEVICE)
    loader = DataLoader(Readings(), batch_size=BATCH, shuffle=True, num_workers=2, pin_memory=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    weights = torch.ones(BATCH, CLASSES, device=DEVICE)
    losses = []
    for batch in loader:
        inputs = batch[0].to(DEVICE, non_blocking=True)
        labels = batch[1].to(DEVICE, non_blocking=True)
        noise = torch.randn(BATCH, FEATURES, device=DEVICE)
        scores = model(inputs + 0.1 * noise) * weights
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    print(f"loss {losses[0].item():.3f} to {losses[-1].item():.3f} in {len(losses)} steps")


if __name__ == "__main__":
    train()
