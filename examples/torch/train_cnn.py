"""Train a small CNN on generated images, with five mistakes that slow such scripts down.

- The DataLoader has no workers: every batch is put together while the model waits.
- Pixels are scaled row by row, `scaled[i] = ...`, where one expression could do all rows.
- Each convolution has a bias although the batch norm behind it subtracts any constant.
- Gradients are zeroed instead of set to None: an extra write, and an add in the next backward.
- Adam updates one parameter at a time (`foreach=False`).

`train_cnn_fixed.py` is the same training without them.

    python examples/torch/train_cnn.py [--trace train_cnn.json.gz]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader, TensorDataset

BATCH, CLASSES, EPOCHS, SAMPLES, SIZE = 16, 4, 2, 64, 16


def make_data() -> tuple[Tensor, Tensor]:
    """Byte images whose brightness tells their class."""
    labels = torch.arange(SAMPLES) % CLASSES
    noise = torch.randint(0, 64, (SAMPLES, 3, SIZE, SIZE))
    return (noise + 48 * labels.view(-1, 1, 1, 1)).to(torch.uint8), labels


def block(inputs: int, outputs: int) -> nn.Module:
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=True)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


def scale_pixels(images: Tensor) -> Tensor:
    scaled = torch.empty(images.shape)
    for i in range(len(images)):
        scaled[i] = images[i] / 255
    return scaled


def train(prof: profile | None = None) -> None:
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*make_data()), batch_size=BATCH, shuffle=True, num_workers=0)
    head = nn.Linear(32 * (SIZE // 4) ** 2, CLASSES)
    model = nn.Sequential(block(3, 16), block(16, 32), nn.Flatten(), head)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    for epoch in range(EPOCHS):
        for images, labels in loader:
            optimizer.zero_grad(set_to_none=False)
            loss = nn.functional.cross_entropy(model(scale_pixels(images)), labels)
            loss.backward()
            optimizer.step()
            if prof is not None:
                prof.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--trace", metavar="FILE", help="record three steps to this file")
    trace: str | None = parser.parse_args().trace
    if trace is None:
        train()
    else:
        with profile(
            schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
            on_trace_ready=lambda prof: prof.export_chrome_trace(trace),
            record_shapes=True,
            with_stack=True,
            profile_memory=True,
        ) as prof:
            train(prof)
