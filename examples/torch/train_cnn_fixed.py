"""Train the small CNN of `train_cnn.py` without its five mistakes.

- The data fits into memory, so a batch is an index into one tensor and no loader is needed. Data
  that does not fit calls for `DataLoader(num_workers=...)`.
- All pixels are scaled by one expression.
- The convolutions have no bias: the batch norm behind each has one of its own.
- Gradients are set to None (the default of `zero_grad`).
- Adam updates all parameters together (`foreach=True`).

    python examples/torch/train_cnn_fixed.py [--trace train_cnn_fixed.json.gz]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.profiler import profile, schedule

BATCH, CLASSES, EPOCHS, SAMPLES, SIZE = 16, 4, 2, 64, 16


def make_data() -> tuple[Tensor, Tensor]:
    """Byte images whose brightness tells their class."""
    labels = torch.arange(SAMPLES) % CLASSES
    noise = torch.randint(0, 64, (SAMPLES, 3, SIZE, SIZE))
    return (noise + 48 * labels.view(-1, 1, 1, 1)).to(torch.uint8), labels


def block(inputs: int, outputs: int) -> nn.Module:
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


def scale_pixels(images: Tensor) -> Tensor:
    return images / 255


def train(prof: profile | None = None) -> None:
    torch.manual_seed(0)
    images, labels = make_data()
    head = nn.Linear(32 * (SIZE // 4) ** 2, CLASSES)
    model = nn.Sequential(block(3, 16), block(16, 32), nn.Flatten(), head)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
    for epoch in range(EPOCHS):
        for rows in torch.randperm(SAMPLES).split(BATCH):
            optimizer.zero_grad()
            output = model(scale_pixels(images[rows]))
            loss = nn.functional.cross_entropy(output, labels[rows])
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
