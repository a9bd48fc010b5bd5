"""Train a small MLP on two moons, with five mistakes that slow such scripts down.

- The DataLoader has no workers: each sample is read and augmented while training waits.
- Distances to the anchors are filled in one by one, where one expression could do all.
- The linear layers have a bias although the batch norm behind them subtracts any constant.
- Gradients are zeroed instead of set to None: an extra write, and an add in the next backward.
- Adam updates one parameter at a time (`foreach=False`).

`train_mlp_fixed.py` is the same training without them.

    tidy run examples/train_mlp.py
"""

from __future__ import annotations

import math
import random

import tidy.runtime as torch
from tidy.runtime import Tensor, nn
from tidy.runtime.utils.data import DataLoader, Dataset

ANCHORS, BATCH, EPOCHS, SAMPLES, WIDTH = 24, 32, 3, 512, 64


class TwoMoons(Dataset[tuple[Tensor, Tensor]]):
    """Points on two half circles, jittered anew each time they are read."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        label = index % 2
        angle = math.pi * (index / SAMPLES + label)
        points = []
        for _ in range(4):  # the mean of many readings, as a slow sensor gives them
            x, y = math.cos(angle) + label, math.sin(angle) + label / 2
            points.append((x + random.gauss(0, 2), y + random.gauss(0, 2)))
        mean = [sum(values) / len(points) for values in zip(*points, strict=True)]
        return torch.tensor(mean), torch.tensor(label)


def distances(points: Tensor, anchors: Tensor) -> Tensor:
    """The distance of each point to each anchor; shape (points, anchors)."""
    found = torch.empty(len(points), len(anchors))
    for i in range(len(anchors)):
        found[:, i] = (points - anchors[i]).norm(dim=1)
    return found


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Linear(ANCHORS, WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, 2),
    )


def train() -> None:
    torch.manual_seed(0)
    anchors = torch.rand(ANCHORS, 2) * 3 - 1
    model = make_model()
    loader = DataLoader(TwoMoons(), batch_size=BATCH, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=False)
    for epoch in range(EPOCHS):
        for points, labels in loader:
            optimizer.zero_grad(set_to_none=False)
            loss = nn.functional.cross_entropy(model(distances(points, anchors)), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
