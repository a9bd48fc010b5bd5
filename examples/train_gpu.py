"""Train a classifier on a GPU, with seven mistakes that leave the GPU waiting.

- The DataLoader has no workers: the GPU waits while each batch is read.
- Batches are in ordinary memory, which the GPU cannot copy from by itself.
- The class weights are in pinned memory, but the copy waits until it is done all the same.
- The noise is made on the CPU and then copied, where it could be made on the GPU.
- Matrix products in float32 leave the tensor cores idle: TF32 is off by default.
- Adam updates one parameter at a time (`foreach=False`), with a few small kernels for each.
- `loss.item()` in every step makes the host wait for the GPU.

`train_gpu_fixed.py` is the same training without them. No GPU is needed: numpy computes, and the
GPU's times come from a model (docs/modelled-device.md).

    tidy run --device a100 examples/train_gpu.py
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
    model = make_model().to(DEVICE)
    loader = DataLoader(Readings(), batch_size=BATCH, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    weights = torch.ones(BATCH, CLASSES).pin_memory()
    losses = []
    for batch in loader:
        inputs = batch[0].to(DEVICE)
        labels = batch[1].to(DEVICE)
        noise = torch.randn(BATCH, FEATURES).to(DEVICE)
        scores = model(inputs + 0.1 * noise) * weights.to(DEVICE)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps")


if __name__ == "__main__":
    train()
