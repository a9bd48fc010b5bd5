"""Programs whose backward runs on another thread than their forward; they need PyTorch."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import torch
from torch import nn
from torch.profiler import record_function


def _model() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))


def _forward(model: nn.Module, seed: int) -> torch.Tensor:
    loss: torch.Tensor = model(torch.full((16, 32), float(seed))).pow(2).mean()
    return loss


def _backward(loss: torch.Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


class _Worker:
    """A thread that runs backwards on demand."""

    def __init__(self) -> None:
        self._todo: queue.Queue[torch.Tensor | None] = queue.Queue()
        self._done: queue.Queue[bool] = queue.Queue()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while (loss := self._todo.get()) is not None:
            _backward(loss)
            self._done.put(True)

    def backward(self, loss: torch.Tensor) -> None:
        self._todo.put(loss)
        self._done.get()

    def close(self) -> None:
        self._todo.put(None)
        self._thread.join()


def same_thread() -> None:
    model = _model()
    for step in range(3):
        with record_function(f"iteration_{step}"):
            _backward(_forward(model, step))


def new_thread_each() -> None:
    """A fresh thread for each backward."""
    model = _model()
    for step in range(3):
        with record_function(f"iteration_{step}"):
            thread = threading.Thread(target=_backward, args=(_forward(model, step),))
            thread.start()
            thread.join()
        torch.ones(3)


def one_thread_reused() -> None:
    model, worker = _model(), _Worker()
    for step in range(3):
        with record_function(f"iteration_{step}"):
            worker.backward(_forward(model, step))
            torch.zeros(4).add_(1)
        torch.ones(3)
    worker.close()


def two_at_once() -> None:
    """Two forward threads, each with backward threads of its own."""
    barrier = threading.Barrier(2)

    def lane(number: int) -> None:
        model = _model()
        for step in range(3):
            barrier.wait()
            with record_function(f"lane_{number}_{step}"):
                thread = threading.Thread(target=_backward, args=(_forward(model, step),))
                thread.start()
                thread.join()

    lanes = [threading.Thread(target=lane, args=(number,)) for number in range(2)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    torch.ones(5)


def late_backward() -> None:
    """The worker starts inside a range and works on when that is over."""
    model, worker = _model(), _Worker()
    losses = [_forward(model, step) for step in range(3)]
    with record_function("first_backward"):
        worker.backward(losses[0])
    with record_function("second_backward"):
        worker.backward(losses[1])
    worker.backward(losses[2])
    time.sleep(0.001)
    with record_function("afterwards"):
        torch.ones(3)
    worker.close()


def root_first() -> None:
    """The first backward comes while nothing is open on the forward thread."""
    model, worker = _model(), _Worker()
    losses = [_forward(model, step) for step in range(3)]
    worker.backward(losses[0])
    with record_function("second_backward"):
        worker.backward(losses[1])
    with record_function("third_backward"):
        worker.backward(losses[2])
    worker.close()


class _Nest(torch.autograd.Function):
    """A function whose backward runs a backward: 60 deep, the engine changes thread."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, depth: int) -> torch.Tensor:
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        if ctx.depth > 0:
            with torch.enable_grad():
                x = torch.ones(2, requires_grad=True)
                _Nest.apply(x, ctx.depth - 1).sum().backward()  # type: ignore[no-untyped-call]
        return gradient * 2, None


def deep_reentrant() -> None:
    for step in range(2):
        with record_function(f"iteration_{step}"):
            x = torch.ones(2, requires_grad=True)
            _backward(_Nest.apply(x, 65).sum())  # type: ignore[no-untyped-call]


def double_backward() -> None:
    x = torch.ones(4, requires_grad=True)
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    _backward(gradient.pow(2).sum())
