"""Layers, parametrizations and data sets that few scripts use, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt

from .answers import plain, same
from .raised import raised

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def _array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def _filled(lib: Any, module: Any) -> Any:
    """Parameters that are the same in both libraries."""
    module = module.double()
    for number, (_, each) in enumerate(sorted(module.named_parameters())):
        each.data = lib.tensor(_array(*each.shape, seed=number) / 4)
    return module


def _gradients(module: Any) -> list[Any]:
    return [[name, each.grad] for name, each in sorted(module.named_parameters())]


def sync_batch_norm(lib: Any) -> list[Any]:
    """In one process it is a batch norm; models are converted, and keep what they know."""
    norm = _filled(lib, lib.nn.BatchNorm2d(3))
    net = lib.nn.SyncBatchNorm.convert_sync_batchnorm(lib.nn.Sequential(norm, lib.nn.ReLU()))
    x = lib.tensor(_array(4, 3, 2, 2))
    return [type(net[0]).__name__, repr(net), [[k, v] for k, v in net.state_dict().items()],
            net.eval()(x)]  # fmt: skip


def data_sets(lib: Any) -> list[Any]:
    data = lib.utils.data
    rows = data.TensorDataset(lib.arange(5))

    class Counted(data.IterableDataset):
        def __init__(self, upto: int) -> None:
            self.upto = upto

        def __iter__(self) -> Any:
            return iter(range(self.upto))

        def __len__(self) -> int:
            return self.upto

    chain = Counted(2) + Counted(3)
    sampled = []
    for rank in range(3):
        for drop in (False, True):
            options = {"num_replicas": 3, "rank": rank, "shuffle": False, "drop_last": drop}
            sampler = data.distributed.DistributedSampler(rows, **options)
            sampled.append([list(sampler), len(sampler)])
    return [
        list(chain), len(chain), list(data.ChainDataset([Counted(1), Counted(2)])), sampled,
        raised(lambda: data.distributed.DistributedSampler(rows, num_replicas=2, rank=2)),
    ]  # fmt: skip


def registration_hooks(lib: Any) -> list[Any]:
    """They are called for all modules, and may give them something else."""
    home, seen = lib.nn.modules.module, list[Any]()
    kinds = "parameter", "module", "buffer"

    def note(module: Any, name: str, given: Any) -> Any:
        seen.append([type(module).__name__, name, type(given).__name__])
        return lib.nn.Identity() if name == "other" else None

    handles = [getattr(home, f"register_module_{each}_registration_hook")(note) for each in kinds]
    net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
    net.other = lib.nn.ReLU()
    net[0].weight = lib.nn.Parameter(lib.ones(3, 2))
    for each in handles:
        each.remove()
    net.add_module("last", lib.nn.ReLU())
    return [sorted(seen), repr(net)]  # a norm registers its buffers earlier here


def further_paths(lib: Any) -> list[Any]:
    """What is reached by attributes alone, as scripts do."""
    data, dist = lib.utils.data, lib.distributions
    named = [
        data.sampler.SubsetRandomSampler, data.dataset.Subset, data.dataloader.default_collate,
        data.distributed.DistributedSampler, dist.normal.Normal, dist.categorical.Categorical,
        lib.nn.utils.clip_grad.clip_grad_norm_, lib.autograd.grad_mode.no_grad,
    ]  # fmt: skip
    return [*(each.__name__ for each in named), raised(lambda: dist.no_such)]


@pytest.mark.parametrize(
    "ask",
    [sync_batch_norm, data_sets, registration_hooks, further_paths],
)
def test_as_with_pytorch(ask: Callable[[Any], list[Any]]) -> None:
    torch = pytest.importorskip("torch")
    same(plain(ask(rt)), plain(ask(torch)), lambda _: (1e-9, 1e-9), 1e-9)
