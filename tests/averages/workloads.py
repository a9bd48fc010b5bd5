"""Small training runs for PyTorch's profiler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def training(steps: int = 2, step: Callable[[], Any] = lambda: None) -> None:
    """Convolution, linear layers, Adam, named ranges; memory freed at the end of each step."""
    import torch
    from torch.profiler import record_function

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 3, groups=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 64, 10),
    )
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(steps):
        with record_function("the forward"):
            images = torch.randn(2, 4, 8, 8)
            loss = net(images).logsumexp(1).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step()


def operations() -> None:
    """Ops with and without a formula for FLOPs, in forms with and without a count."""
    import torch
    from torch.nn import functional as F  # noqa: N812

    image = torch.randn(2, 4, 9, 8)
    weight = torch.randn(8, 4, 3, 2)
    for options in (
        {},
        {"stride": 2},
        {"stride": [2]},
        {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 1)},
    ):
        F.conv2d(image, weight, **options)
    F.conv2d(image[0], weight)
    F.conv2d(image, torch.randn(8, 4, 3, 3), padding="same")
    F.conv2d(image, torch.randn(8, 1, 3, 3), groups=4)
    F.conv1d(torch.randn(2, 4, 9), torch.randn(8, 4, 3))
    F.conv_transpose2d(image, torch.randn(4, 3, 2, 2))
    a, b = torch.randn(5, 6, 7), torch.randn(5, 7, 3)
    torch.bmm(a, b)
    torch.baddbmm(torch.randn(5, 6, 3), a, b)
    torch.matmul(torch.randn(2, 3, 4, 5), torch.randn(5, 6))
    torch.addmm(torch.randn(4), torch.randn(2, 3), torch.randn(3, 4))
    torch.mm(torch.randn(0, 3), torch.randn(3, 4))
    torch.mv(torch.randn(3, 4), torch.randn(4))
    scalar = torch.tensor(3.0)
    for left, right in ((scalar, scalar), (scalar, image), (image, image[:1]), (image, 2)):
        left * right
        left + right
    1 + image
    image.mul_(2).add_(1)
    torch.cat([image, image])
    torch.stack([a, a])
    torch.einsum("bij,bjk->bik", a, b)


def threads() -> None:
    """Ops of several threads at a time, and backward passes in one of them."""
    import torch

    def work() -> None:
        weight = torch.randn(16, 16, requires_grad=True)
        for _ in range(3):
            (weight @ weight).sum().backward()

    started = [threading.Thread(target=work) for _ in range(3)]
    for thread in started:
        thread.start()
    work()
    for thread in started:
        thread.join()


def custom_backward() -> None:
    """A backward function in Python, and a double backward."""
    import torch

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(_: Any, *grad: Any) -> Any:
            return grad[0] * 2

    x = torch.randn(4, requires_grad=True)
    Double.apply(x).sum().backward()
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    gradient.sum().backward()
