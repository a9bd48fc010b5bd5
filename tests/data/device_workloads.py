"""Programs for modelled devices, with tidy.runtime; each configures what it runs on."""

from __future__ import annotations

import tidy.runtime as torch
from tidy.runtime import cuda, nn


def device_training() -> None:
    """Three steps on one device: two copies to it in each, and one number read back."""
    cuda.configure("a100")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    pageable, pinned = torch.ones(256, 64), torch.zeros(256, 8).pin_memory()
    for number in range(3):
        with torch.record_function(f"ProfilerStep#{number}"):
            x, y = pageable.to("cuda"), pinned.to("cuda", non_blocking=True)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()


def device_streams() -> None:
    """Two streams that wait for one another, a fill, and memory given back."""
    cuda.configure("t4")
    x = torch.ones(512, 512, device="cuda")
    side, done = cuda.Stream(), cuda.Event()
    for _ in range(3):
        y = x @ x
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            z = (y * 2).sum()
            done.record()
        done.synchronize()
        torch.zeros(1000, device="cuda").add_(z)
    del x, y, z
    cuda.synchronize()
    cuda.empty_cache()


def device_graph() -> None:
    """A captured graph, replayed three times."""
    cuda.configure("h100")
    x, graph = torch.ones(256, 256, device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        ((x @ x).relu() + 1).sum()
    for number in range(3):
        with torch.record_function(f"ProfilerStep#{number}"):
            x.fill_(number)
            graph.replay()
    cuda.synchronize()


def device_parallel() -> None:
    """A batch that is spread over two devices, and gradients that come back from both."""
    cuda.configure("a100", 2)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 4)).cuda()
    model = nn.DataParallel(module)
    for number in range(2):
        with torch.record_function(f"ProfilerStep#{number}"):
            model(torch.ones(64, 32).cuda()).sum().backward()
    cuda.synchronize()


# Not the others: the runtime captures no graphs and spreads no batch over devices any more. Their
# traces are older, and the reports on those quote the lines above.
DEVICE_WORKLOADS = {work.__name__: work for work in (device_training, device_streams)}
