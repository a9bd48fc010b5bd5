"""Loops over tensors and over data, and what only looks like them; they need PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


def fill_nested_chain(t: Tensor) -> None:
    for i in range(12):
        for j in range(12):
            t[i][j] = i * j


def fill_nested_tuple(t: Tensor) -> None:
    for i in range(12):
        for j in range(12):
            t[i, j] = i * j


def add_row_by_row(t: Tensor, u: Tensor) -> None:
    for i in range(100):
        t[i] = u[i] + 1


def put(t: Tensor, i: int) -> None:
    t[i] = i


def fill_through_helper(t: Tensor) -> None:
    for i in range(100):
        put(t, i)


def read_row_by_row(t: Tensor) -> None:
    rows: list[Tensor] = []
    for i in range(100):
        rows.append(t[i] * 2)  # noqa: PERF401


def fill_at_once(t: Tensor, u: Tensor) -> None:
    t[:] = u + 1


def recurrent(x: Tensor, w: Tensor, h: Tensor) -> None:
    for t in range(30):
        h = torch.tanh(x[t] @ w + h)
    h.sum().backward()  # type: ignore[no-untyped-call]


def one_sample_a_step(model: nn.Module, opt: torch.optim.Optimizer, x: Tensor) -> None:
    for i in range(20):
        opt.zero_grad()
        model(x[i]).pow(2).mean().backward()
        opt.step()


def write_into_each_of_a_list(tensors: list[Tensor]) -> None:
    for t in tensors:
        t[0] = 1


def slices_of_growing_length(t: Tensor) -> None:
    for i in range(1, 40):
        t[:i].max()


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Rows of two tensors, by index."""

    def __init__(self) -> None:
        self.x, self.y = torch.ones(64, 16), torch.arange(64)

    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        return self.x[i], self.y[i]


def loader(workers: int) -> DataLoader[Any]:
    return DataLoader(Rows(), batch_size=16, num_workers=workers)


def fetch_all(loader: DataLoader[Any]) -> None:
    for x, _ in loader:
        x.sum()


def fetch_from_iterator(batches: Iterator[Any]) -> None:
    for x, _ in batches:
        x.sum()


def loops() -> dict[str, Callable[[], None]]:
    zeros, ones = torch.zeros(100, 12), torch.ones(100, 12)
    weight = torch.ones(12, 12, requires_grad=True)
    model = nn.Linear(16, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    return {
        "nested-chain": partial(fill_nested_chain, zeros),
        "nested-tuple": partial(fill_nested_tuple, zeros),
        "copy-plus-one": partial(add_row_by_row, zeros, ones),
        "helper": partial(fill_through_helper, zeros),
        "read-rows": partial(read_row_by_row, ones),
        "at-once": partial(fill_at_once, zeros, ones),
        "recurrent": partial(recurrent, ones, weight, torch.zeros(12)),
        "one-sample-a-step": partial(one_sample_a_step, model, opt, torch.ones(20, 16)),
        "list-of-tensors": partial(write_into_each_of_a_list, [torch.zeros(4) for _ in range(30)]),
        "growing-slices": partial(slices_of_growing_length, torch.ones(40)),
    }


def loaders() -> dict[str, Callable[[], None]]:
    return {
        "data-set": partial(fetch_all, loader(0)),
        "data-set-workers": partial(fetch_all, loader(2)),
        "iterator-before": partial(fetch_from_iterator, iter(loader(0))),
    }
