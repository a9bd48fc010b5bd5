"""Two processes of PyTorch's DistributedDataParallel with Gloo, recorded; run as a script.

python data_parallel_workload.py FOLDER MODE...

Each mode has a folder of its name, with a recording of each rank.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.profiler import profile

_STEPS, _MICRO_BATCHES, _LAYERS = 4, 2, 10
_SLEEP_S = 0.1


class _Branches(nn.Module):
    """A model one of whose layers takes part now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.one = nn.Linear(32, 32), nn.Linear(32, 32)
        self.count = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        x = self.both(x)
        return self.one(x) if self.count % 2 else x


def train_all(rank: int, folder: str, *modes: str) -> None:
    """Train and record in each mode, in the same two processes."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    for mode in modes:
        train(rank, mode).export_chrome_trace(str(Path(folder) / mode / f"rank{rank}.json"))
    dist.destroy_process_group()


def train(rank: int, mode: str) -> profile:
    """Train and record on one rank; `mode` says what is at fault, or what only looks like it."""
    torch.manual_seed(0)
    layers = [nn.Linear(32, 32) for _ in range(_LAYERS)]
    model = (
        nn.Sequential(*layers, nn.BatchNorm1d(32)) if "buffers" in mode else nn.Sequential(*layers)
    )
    if mode == "branches":
        model = _Branches()
    net = model
    if not mode.startswith("one-by-one"):
        net = nn.parallel.DistributedDataParallel(
            model,
            find_unused_parameters=mode in ("search", "branches"),
            broadcast_buffers=mode == "buffers",
        )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    inputs = torch.randn(64, 32)
    with profile(record_shapes=True, with_stack=True) as prof:
        for _ in range(_STEPS):
            optimizer.zero_grad()
            for number in range(_MICRO_BATCHES if mode.startswith("accumulated") else 1):
                alone = mode == "accumulated-right" and number < _MICRO_BATCHES - 1
                with net.no_sync() if alone else nullcontext():
                    net(inputs).square().mean().backward()
            if mode == "one-by-one":
                for param in model.parameters():
                    dist.all_reduce(param.grad)
            elif mode == "one-by-one-right":
                grads = [param.grad for param in model.parameters()]
                flat = torch.cat([grad.flatten() for grad in grads])
                dist.all_reduce(flat)
                parts = flat.split([grad.numel() for grad in grads])
                for grad, part in zip(grads, parts, strict=True):
                    grad.copy_(part.view_as(grad))
            if mode == "late" and rank == 1:
                time.sleep(_SLEEP_S)
            dist.barrier()
            optimizer.step()
            prof.step()
    return prof


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in sys.argv[2:]:
        Path(sys.argv[1], name).mkdir()
    mp.spawn(train_all, tuple(sys.argv[1:]), nprocs=2)
