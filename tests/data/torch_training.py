"""A training loop with many anti-patterns, and the same one without them; they need PyTorch.

Steps are marked as `profile.step()` marks them. `warm` is to be called first: what PyTorch imports
when it is first used is no part of a training loop.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

STEPS = 3


def _train(good: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=not good),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 6 * 6, 16),
        nn.Linear(16, 4),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=good)
    images = torch.randn(STEPS * 8, 3, 8, 8)
    labels = torch.randint(4, (STEPS * 8,))
    at_once = zip(images.split(8), labels.split(8), strict=True)
    batches = at_once if good else DataLoader(TensorDataset(images, labels), batch_size=8)
    total, history = torch.zeros(()), torch.zeros(32)
    for number, (image, label) in enumerate(batches):
        with record_function(f"ProfilerStep#{number}"):
            optimizer.zero_grad(set_to_none=good)
            loss = nn.functional.cross_entropy(model(image), label)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.detach() if good else loss.item()
    if good:
        history[:] = torch.arange(32.0)
    else:
        for i in range(32):
            history[i] = i
        torch.ones(7, 7, dtype=torch.bfloat16) @ torch.ones(7, 7, dtype=torch.bfloat16)


def warm() -> None:
    _train(good=False)
    _train(good=True)


def training_bad() -> None:
    _train(good=False)


def training_good() -> None:
    _train(good=True)
